// The peers of usrsctp, and how their packets go.
//
// usrsctp knows our peers by SCTP ports and an AF_CONN "address", a pointer that it never follows.
// Every address has to be registered, is searched for in a list with each packet, and cannot be
// given back without usrsctp's own thread. So few of them serve all: two peers need different ones
// only where their ports are the same. An INIT leaves nothing here: the address comes back with the
// COOKIE ECHO, and only an association that is up keeps its path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>

#include "simco/net/datagram_port.hpp"

namespace simco::net::sctp {

/// A peer as usrsctp sees it.
struct PeerId {
  std::uint16_t number = 0;  ///< as AF_CONN address: address_of()
  std::uint16_t local_port = 0;
  std::uint16_t remote_port = 0;
  friend bool operator==(const PeerId&, const PeerId&) = default;
};

/// The AF_CONN address of number `number`, and back.
void* address_of(std::uint16_t number);
std::uint16_t number_of(const void* address);

/// Makes the addresses up to that number known to usrsctp.
void register_up_to(std::uint16_t number);

/// Two names for each peer, which agree: usrsctp's and that of its packets.
class UserlandPeers {
 public:
  /// The peer at the end of `path` with these SCTP ports, kept until release() has been called as
  /// often as both hold(). Nothing where kUserlandNumbersMax others have the same ports.
  std::optional<PeerId> hold(const std::shared_ptr<DatagramPort>& port, const Path& path,
                             std::uint16_t local_port, std::uint16_t remote_port);
  void hold(PeerId peer) { ++peers_.at(peer).holders; }
  void release(PeerId peer);
  bool knows(PeerId peer) const { return peers_.contains(peer); }
  const Path& path(PeerId peer) const { return peers_.at(peer).path; }
  DatagramPort& port(PeerId peer) const { return *peers_.at(peer).port; }
  /// Data chunks sent again to that peer.
  std::uint64_t retransmissions(PeerId peer) const;

  /// The peer whose packets come on `path`, if one is known.
  std::optional<PeerId> find(const DatagramPort& port, const Path& path, std::uint16_t local_port,
                             std::uint16_t remote_port) const;
  /// The peer that now comes on `path`, if its packet proves by its tag that it is known.
  std::optional<PeerId> find_moved(const DatagramPort& port, const Path& path,
                                   std::uint16_t local_port, std::uint16_t remote_port,
                                   std::uint32_t tag);
  /// A packet with that tag has come from it.
  void note_tag(PeerId peer, std::uint32_t tag);
  /// A packet goes to it.
  void note_sent(PeerId peer, std::span<const std::byte> packet);
  /// Stops their ports.
  void clear();

 private:
  struct Peer {
    std::shared_ptr<DatagramPort> port;
    Path path;
    std::size_t holders = 0;
    std::uint32_t tag = 0;  ///< that its packets carry; 0: not known yet
    bool has_sent = false;
    std::uint32_t highest_tsn = 0;
    std::uint64_t retransmissions = 0;
  };
  struct Key {
    const DatagramPort* port;
    Path path;
    std::uint16_t local_port;
    std::uint16_t remote_port;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
    std::size_t operator()(PeerId peer) const;
  };

  std::unordered_map<PeerId, Peer, Hash> peers_;
  std::unordered_map<Key, PeerId, Hash> ids_;
};

}  // namespace simco::net::sctp
