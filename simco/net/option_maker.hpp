// Makes rows of a transport's table of options from the members of its structure.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include "simco/net/transport_option.hpp"

namespace simco::net {

/// `kPart`: the transport's member of TransportSettings. A member of it is a number, a time in its
/// own unit, a bool or an enumeration whose values are the positions of `choices`.
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

}  // namespace simco::net
