// The options of transports as values: command lines, configuration files and reports go through
// them and do not know whose they are.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "simco/net/transport.hpp"

namespace simco::net {

struct TransportType;

/// An option. Its value is a number, 0 or 1 for a flag, or the position of a choice.
struct TransportOption {
  enum class Kind : std::uint8_t { kNumber, kFlag, kChoice };

  Kind kind = Kind::kNumber;
  const char* name;       ///< as on command lines, without the dashes
  const char* help;       ///< text for `--help`
  std::uint32_t min = 0;  ///< of a number
  std::uint32_t max = 0;  ///< of a number
  bool or_zero = false;   ///< a number below `min` may be 0
  std::span<const char* const> choices = {};
  std::uint32_t (*get)(const TransportSettings& settings);
  /// `value` must be in the range above.
  void (*set)(TransportSettings& settings, std::uint32_t value);
  /// Called if the user gives the option, even with its default value. May be null.
  void (*on_given)(TransportSettings& settings) = nullptr;
  /// It belongs to all transports with this ability; null: to its own only.
  bool TransportType::* ability = nullptr;

  /// Returns the value as text: a number, "true" or "false", or a choice.
  std::string text(const TransportSettings& settings) const;
};

/// Makes rows of a transport's table of options from the members of its structure. `kPart`: the
/// transport's member of TransportSettings. A member of it is a number, a time in its own unit, a
/// bool or an enumeration whose values are the positions of `choices`.
template <auto kPart>
class OptionMaker {
 public:
  template <auto kMember>
  static constexpr TransportOption number(const char* name, const char* help, std::uint32_t min,
                                          std::uint32_t max) {
    auto option = make<kMember>(Kind::kNumber, name, help);
    option.min = min;
    option.max = max;
    return option;
  }
  template <auto kMember>
  static constexpr TransportOption flag(const char* name, const char* help) {
    return make<kMember>(Kind::kFlag, name, help);
  }
  template <auto kMember>
  static constexpr TransportOption choice(const char* name, const char* help,
                                          std::span<const char* const> choices) {
    auto option = make<kMember>(Kind::kChoice, name, help);
    option.choices = choices;
    return option;
  }

 private:
  using Kind = TransportOption::Kind;

  template <auto kMember>
  static constexpr TransportOption make(Kind kind, const char* name, const char* help) {
    return {.kind = kind, .name = name, .help = help, .get = get<kMember>, .set = set<kMember>};
  }
  template <auto kMember>
  static std::uint32_t get(const TransportSettings& settings) {
    const auto& value = settings.*kPart.*kMember;
    if constexpr (requires { value.count(); }) {
      return static_cast<std::uint32_t>(value.count());
    } else {
      return static_cast<std::uint32_t>(value);
    }
  }
  template <auto kMember>
  static void set(TransportSettings& settings, std::uint32_t value) {
    auto& member = settings.*kPart.*kMember;
    member = static_cast<std::remove_reference_t<decltype(member)>>(value);
  }
};

/// Sets the option called `name`, of whichever transport has it. It must exist.
void set_option(TransportSettings& settings, std::string_view name, std::uint32_t value);

}  // namespace simco::net
