// Helpers for the replies of all transactions.
#pragma once

#include <algorithm>

#include "middlebox/policy/plan.hpp"

namespace simco::policy {

inline Verdict refuse(Plan& plan, NegativeReplyCode code) {
  plan.reply = NegativeReply{code, {}};
  return Verdict::kReplied;
}

/// Returns the remaining lifetime, rounded up: a live rule never reports 0, which would mean that
/// it has ended.
inline Lifetime remaining(const Rule& rule, Instant now) {
  using std::chrono::ceil, std::chrono::seconds;
  const auto left = ceil<seconds>(rule.expires_at - now);
  return {static_cast<std::uint32_t>(std::max<std::int64_t>(left.count(), 0))};
}

inline AddressTuple at(AddressTuple tuple, Location location) {
  tuple.location = location;
  return tuple;
}

/// Returns every address and port of `version` and `protocol`, as a `protocols only` tuple (8.2.2).
inline AddressTuple any_address(IpVersion version, std::uint8_t protocol) {
  AddressTuple tuple;
  tuple.form = AddressForm::kProtocolsOnly;
  tuple.ip_version = version;
  tuple.prefix_length = 0;
  tuple.protocol = protocol;
  return tuple;
}

}  // namespace simco::policy
