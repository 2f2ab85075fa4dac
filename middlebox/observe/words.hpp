// Text from peers and configuration files as words of a log line.
#pragma once

#include <string>
#include <string_view>

namespace simco::middlebox::words {

/// Returns `text` in double quotes, with unusual bytes escaped: always a single line.
std::string quoted(std::string_view text);
/// Returns `text` as a single word: as it is, or quoted if it would be several.
std::string word(std::string_view text);

}  // namespace simco::middlebox::words
