// Files that programs write their results to. An error is a sentence.
#pragma once

#include <expected>
#include <string>

namespace simco::loadgen {

/// Finds before a run the mistakes that would lose its results. Creates the file; "" and "-" are
/// always fine.
std::expected<void, std::string> can_write(const std::string& path);

/// Writes `text` to the file `path`; "-": to standard output.
std::expected<void, std::string> write_text(const std::string& path, const std::string& text);

}  // namespace simco::loadgen
