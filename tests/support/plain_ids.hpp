// PIDs and GIDs of a middlebox that was just started, as if they began at 1.
#pragma once

#include <cstdint>
#include <optional>
#include <regex>
#include <string>

#include "middlebox/limits.hpp"

namespace simco::test {

class PlainIds {
 public:
  /// `text` with plain identifiers. The first one ever seen stands for 1.
  std::string plain(const std::string& text) {
    static const std::regex number("[0-9]{7,10}");
    std::string result;
    auto rest = text.begin();
    for (std::sregex_iterator at(text.begin(), text.end(), number), end; at != end; ++at) {
      const auto id = std::stoull(at->str());
      result.append(rest, text.begin() + at->position());
      rest = text.begin() + at->position() + at->length();
      if (!first_) first_ = id;
      result += id < *first_ ? at->str() : std::to_string(id - *first_ + 1);
    }
    return result.append(rest, text.end());
  }
  /// The identifier that plain() shows as `number`; itself before the first one was seen.
  std::string real(const std::string& number) const {
    return first_ ? std::to_string(*first_ + std::stoull(number) - 1) : number;
  }

 private:
  std::optional<std::uint64_t> first_;
};

}  // namespace simco::test
