// Finds peers by both of their names, and counts the data chunks that are sent to them again.
#include "simco/net/sctp/userland_peers.hpp"

#include <usrsctp.h>

#include <string_view>

#include "simco/net/sctp/limits.hpp"
#include "simco/net/sctp/packet.hpp"

namespace simco::net::sctp {
namespace {

/// Numbers that usrsctp knows: they are never unregistered.
std::uint16_t g_registered = 0;

/// As std::hash, which Boost before 1.76 does not have for addresses.
std::size_t hash_of(const boost::asio::ip::address& address) {
  const auto hash = [](const auto& octets) {
    return std::hash<std::string_view>{}(
        {reinterpret_cast<const char*>(octets.data()), octets.size()});
  };
  return address.is_v4() ? hash(address.to_v4().to_bytes()) : hash(address.to_v6().to_bytes());
}

/// Calls `use(tsn)` for each DATA chunk (RFC 9260 3.3.1).
template <class Use>
void for_each_tsn(std::span<const std::byte> packet, Use use) {
  for_each_chunk(packet, [&](std::span<const std::byte> chunk) {
    if (chunk[0] != std::byte{0} || chunk.size() < kChunkHeader + 4) return;
    use(be32(chunk.subspan(kChunkHeader)));
  });
}

}  // namespace

void* address_of(std::uint16_t number) {
  return reinterpret_cast<void*>(std::uintptr_t{1} + number);
}

std::uint16_t number_of(const void* address) {
  return static_cast<std::uint16_t>(reinterpret_cast<std::uintptr_t>(address) - 1);
}

void register_up_to(std::uint16_t number) {
  for (; g_registered <= number; ++g_registered) usrsctp_register_address(address_of(g_registered));
}

std::size_t UserlandPeers::Hash::operator()(const Key& way) const {
  std::size_t hash = hash_of(way.path.remote);
  hash = hash * 31 + hash_of(way.path.local);
  hash = hash * 31 + std::hash<const void*>{}(way.port);
  const std::uint64_t ports = std::uint64_t{way.path.remote_port} << 32 |
                              std::uint64_t{way.local_port} << 16 | way.remote_port;
  return hash * 31 + std::hash<std::uint64_t>{}(ports);
}

std::size_t UserlandPeers::Hash::operator()(PeerId peer) const {
  return std::hash<std::uint64_t>{}(std::uint64_t{peer.number} << 32 |
                                    std::uint64_t{peer.local_port} << 16 | peer.remote_port);
}

std::optional<PeerId> UserlandPeers::hold(const std::shared_ptr<DatagramPort>& port,
                                          const Path& path, std::uint16_t local_port,
                                          std::uint16_t remote_port) {
  const Key way{port.get(), path, local_port, remote_port};
  auto found = ids_.find(way);
  if (found == ids_.end()) {
    // Not all begin with the first, so that two INITs at once rarely get the same.
    auto number = static_cast<std::uint16_t>(Hash{}(way) % kUserlandNumbersFirst);
    while (peers_.contains({number, local_port, remote_port})) ++number;
    if (number >= kUserlandNumbersMax) return std::nullopt;
    register_up_to(number);
    const PeerId fresh{number, local_port, remote_port};
    found = ids_.emplace(way, fresh).first;
    peers_.emplace(fresh, Peer{port, path});
  }
  hold(found->second);
  return found->second;
}

void UserlandPeers::release(PeerId peer) {
  const auto found = peers_.find(peer);
  if (found == peers_.end() || --found->second.holders != 0) return;
  ids_.erase({found->second.port.get(), found->second.path, peer.local_port, peer.remote_port});
  peers_.erase(found);
}

std::uint64_t UserlandPeers::retransmissions(PeerId peer) const {
  const auto found = peers_.find(peer);
  return found == peers_.end() ? 0 : found->second.retransmissions;
}

std::optional<PeerId> UserlandPeers::find(const DatagramPort& port, const Path& path,
                                          std::uint16_t local_port,
                                          std::uint16_t remote_port) const {
  const auto found = ids_.find({&port, path, local_port, remote_port});
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

// A NAT on the way may give the peer another UDP port (RFC 6951 5.4).
std::optional<PeerId> UserlandPeers::find_moved(const DatagramPort& port, const Path& path,
                                                std::uint16_t local_port, std::uint16_t remote_port,
                                                std::uint32_t tag) {
  for (std::uint16_t number = 0; number < g_registered && tag != 0; ++number) {
    const PeerId peer{number, local_port, remote_port};
    const auto found = peers_.find(peer);
    if (found == peers_.end()) continue;
    Path& old = found->second.path;
    const bool same_host = old.remote == path.remote && old.local == path.local;
    if (found->second.port.get() != &port || !same_host || found->second.tag != tag) continue;
    ids_.erase({&port, old, local_port, remote_port});
    old = path;
    ids_.emplace(Key{&port, path, local_port, remote_port}, peer);
    return peer;
  }
  return std::nullopt;
}

void UserlandPeers::note_tag(PeerId peer, std::uint32_t tag) {
  if (auto& known = peers_.at(peer).tag; known == 0) known = tag;
}

void UserlandPeers::note_sent(PeerId id, std::span<const std::byte> packet) {
  Peer& peer = peers_.at(id);
  for_each_tsn(packet, [&](std::uint32_t tsn) {
    const bool again = peer.has_sent && static_cast<std::int32_t>(tsn - peer.highest_tsn) <= 0;
    if (again) {
      ++peer.retransmissions;
    } else {
      peer.highest_tsn = tsn;
      peer.has_sent = true;
    }
  });
}

void UserlandPeers::clear() {
  ids_.clear();
  for (auto& [id, peer] : peers_) peer.port->stop();
  peers_.clear();
}

}  // namespace simco::net::sctp
