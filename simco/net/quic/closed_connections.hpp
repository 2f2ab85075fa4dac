// The repeated answer to peers whose connection has ended here and that may not know it (RFC 9000
// 10.2). Bounded in time and number; no I/O and no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "simco/net/quic/gate.hpp"

namespace simco::net::quic {

class ClosedConnections {
 public:
  /// From `now` on, for kClosedTime, packets to `ids` are answered with `packet`, or not at all
  /// if that is empty. The oldest goes if there are more than kClosedMax.
  void keep(const std::vector<ConnectionId>& ids, std::vector<std::byte> packet, Time now);
  /// Returns true if a packet to `id` belongs to a connection that has ended.
  bool knows(std::string_view id, Time now);
  /// Returns the answer to a packet of `size` octets to `id`, which knows() has confirmed: empty if
  /// it gets none. The 1st, 2nd, 4th, ... packet gets one (10.2.1), and never more than three times
  /// its size, because its sender may have forged the address.
  std::span<const std::byte> answer(std::string_view id, std::size_t size);

 private:
  struct Closed {
    std::vector<ConnectionId> ids;
    std::vector<std::byte> packet;
    Time until;
    std::uint64_t heard = 0;  ///< packets
  };

  void forget_oldest();

  std::deque<Closed> closed_;  ///< the oldest first
  std::map<ConnectionId, Closed*, std::less<>> by_id_;
};

}  // namespace simco::net::quic
