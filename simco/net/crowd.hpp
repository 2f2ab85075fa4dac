// Peers that have connected and not opened a session yet. Too many of them must cost neither memory
// nor the way in for others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <new>
#include <optional>
#include <unordered_map>
#include <utility>

#include "simco/wire/ip.hpp"

namespace simco::net {

/// The range of addresses of a single host: an IPv4 address, or an IPv6 network of 64 bits.
inline IpAddress source_of(const IpAddress& address) {
  return address.version == IpVersion::kIpv4 ? address : masked(address, 64);
}

/// Guests (values that can be hashed and compared) by source. When there are more than `max`, the
/// source with the most guests loses its oldest guest; of several such sources, the oldest of all.
/// So a single source cannot keep others out, and a newcomer always gets in.
template <class Guest>
class Crowd {
 public:
  explicit Crowd(std::size_t max) : max_(max) {}

  /// Adds `guest`. Returns the guest that must go instead, if any: it has been removed. Throws
  /// std::bad_alloc, and then nothing has changed.
  std::optional<Guest> enter(const IpAddress& address, Guest guest) {
    const auto source = source_of(address);
    Queue entry;
    entry.push_back({guest, ++arrivals_});
    const auto place = places_.emplace(guest, std::pair{source, entry.begin()}).first;
    try {
      add(source, entry);
    } catch (const std::bad_alloc&) {
      places_.erase(place);
      throw;
    }
    if (places_.size() <= max_) return std::nullopt;
    const Guest last = sources_.at(ranks_.rbegin()->second).front().guest;
    leave(last);
    return last;
  }

  /// Nothing happens if it is not there.
  void leave(Guest guest) {
    const auto place = places_.find(guest);
    if (place == places_.end()) return;
    const auto [source, at] = place->second;
    places_.erase(place);
    const auto found = sources_.find(source);
    auto& queue = found->second;
    auto node = ranks_.extract(rank(queue));
    queue.erase(at);
    if (queue.empty()) {
      sources_.erase(found);
    } else {
      rank_again(std::move(node), queue);
    }
  }

  std::size_t size() const { return places_.size(); }

 private:
  struct Entry {
    Guest guest;
    std::uint64_t arrival;
  };
  using Queue = std::list<Entry>;
  /// Size, then age of the oldest.
  using Rank = std::pair<std::size_t, std::uint64_t>;

  static Rank rank(const Queue& queue) { return {queue.size(), ~queue.front().arrival}; }
  /// Puts `entry`, which has one guest, behind the others of its source.
  void add(const IpAddress& source, Queue& entry) {
    auto& queue = sources_[source];  // without memory, an empty queue may stay, which does no harm
    if (queue.empty()) {
      ranks_.emplace(rank(entry), source);
      return queue.splice(queue.end(), entry);
    }
    auto node = ranks_.extract(rank(queue));
    queue.splice(queue.end(), entry);
    rank_again(std::move(node), queue);
  }
  void rank_again(typename std::map<Rank, IpAddress>::node_type node, const Queue& queue) {
    node.key() = rank(queue);
    ranks_.insert(std::move(node));
  }

  std::size_t max_;
  std::uint64_t arrivals_ = 0;
  std::map<IpAddress, Queue> sources_;
  std::map<Rank, IpAddress> ranks_;
  std::unordered_map<Guest, std::pair<IpAddress, typename Queue::iterator>> places_;
};

}  // namespace simco::net
