// Identifiers of RFC 4540 as distinct types that cannot be mixed up.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace simco {

/// An integer with one meaning. `Tag` distinguishes the kinds of id.
template <class Tag, class Int = std::uint32_t>
struct StrongId {
  Int value{};
  friend constexpr auto operator<=>(const StrongId&, const StrongId&) = default;
};

/// Transaction identifier (4.2.5): chosen by the sender of a request or notification.
using TransactionId = StrongId<struct TransactionIdTag>;
/// Policy rule identifier, PID (4.3.4). Our middlebox never uses 0.
using PolicyRuleId = StrongId<struct PolicyRuleIdTag>;
/// Policy rule group identifier, GID (4.3.5). Our middlebox never uses 0.
using GroupId = StrongId<struct GroupIdTag>;

}  // namespace simco

template <class Tag, class Int>
struct std::hash<simco::StrongId<Tag, Int>> {
  std::size_t operator()(simco::StrongId<Tag, Int> id) const noexcept {
    return std::hash<Int>{}(id.value);
  }
};
