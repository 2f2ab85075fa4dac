// The entries of the fast path: the two ends of a packet, port by port. Pure values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "middlebox/rule/rule_record.hpp"

namespace simco::backend::fastpath {

/// An address, in network order (IPv4 has the first four octets), and a port.
struct End {
  std::array<std::byte, 16> address{};
  std::uint16_t port = 0;
  friend bool operator==(const End&, const End&) = default;
};

/// Packets of UDP or UDP-Lite between two ends.
struct Entry {
  IpVersion version = IpVersion::kIpv4;
  std::uint8_t protocol = 0;
  std::uint8_t ways = 0;  ///< FP_INBOUND, FP_OUTBOUND or both
  End internal;           ///< the end on the internal side, as packets have it when they arrive
  End external;
  bool translates = false;
  End to_internal;  ///< the translated ends, if it translates
  End to_external;
  friend bool operator==(const Entry&, const Entry&) = default;
};

/// Appends the entries of `rule` to `entries`; none if the rule is left to nftables: because it is
/// no enable rule, has wildcards, another protocol, more than kPortsMax ports, or an address that
/// no router forwards.
void make_entries(const rule::RuleRecord& rule, std::vector<Entry>& entries);

}  // namespace simco::backend::fastpath
