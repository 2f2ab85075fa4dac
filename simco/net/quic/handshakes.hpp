// Peers whose handshake is under way: however many there are, a newcomer gets in.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <utility>

#include "simco/net/crowd.hpp"
#include "simco/net/quic/limits.hpp"

namespace simco::net::quic {

class Channel;

/// Keeps the channels of guests: until they are up, nothing else does.
class Handshakes {
 public:
  void set_max(std::size_t max) {
    max_ = std::min(max, kQuicHandshakesMax);
    crowd_ = Crowd<Channel*>(max_);
  }
  /// True if an address must first prove that packets reach it (Retry, RFC 9000 8.1.2).
  bool need_proof() const { return crowd_.size() >= max_ / kRetryFromPart; }
  /// Returns the channel that must go instead, if any: it stays here until take().
  std::shared_ptr<Channel> enter(const IpAddress& address, const std::shared_ptr<Channel>& guest) {
    guests_.emplace(guest.get(), guest);
    const auto last = crowd_.enter(address, guest.get());
    const auto found = last ? guests_.find(*last) : guests_.end();
    return found == guests_.end() ? nullptr : found->second;
  }
  /// The guest leaves. Returns nullptr if it was none.
  std::shared_ptr<Channel> take(Channel& channel) {
    crowd_.leave(&channel);
    auto guest = guests_.extract(&channel);
    return guest ? std::move(guest.mapped()) : nullptr;
  }
  /// Its connection is over; decided() will say so.
  void leave(Channel& channel) { crowd_.leave(&channel); }
  /// All of them go.
  void clear() {
    for (const auto& [channel, guest] : std::exchange(guests_, {})) crowd_.leave(channel);
  }

 private:
  std::map<Channel*, std::shared_ptr<Channel>> guests_;
  std::size_t max_ = kQuicHandshakesMax;
  Crowd<Channel*> crowd_{kQuicHandshakesMax};
};

}  // namespace simco::net::quic
