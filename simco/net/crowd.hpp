// Peers that have connected and not opened a session yet. Too many of them must cost neither memory
// nor the way in for others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <map>
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

  /// Adds `guest`. Returns the guest that must go instead, if any: it has been removed.
  std::optional<Guest> enter(const IpAddress& address, Guest guest) {
    const auto source = source_of(address);
    auto& queue = sources_[source];
    auto node = queue.empty() ? RankNode() : ranks_.extract(rank(queue));
    queue.push_back({guest, ++arrivals_});
    places_.emplace(guest, std::pair{source, std::prev(queue.end())});
    if (node) {
      rank_again(std::move(node), queue);
    } else {
      ranks_.emplace(rank(queue), source);
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
  using RankNode = typename std::map<Rank, IpAddress>::node_type;

  static Rank rank(const Queue& queue) { return {queue.size(), ~queue.front().arrival}; }
  void rank_again(RankNode node, const Queue& queue) {
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
