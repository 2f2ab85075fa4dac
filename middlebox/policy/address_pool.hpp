// The addresses and ports that a NAT may allocate to rules, on one of its sides and for one IP
// version (RFC 4540 sections 8.2.3 and 8.3.3).
//
// Ports are counted per transport protocol, as the kernel does. A rule for any protocol holds a
// whole address. With paired pooling (RFC 4787, REQ-2), the rules of a host share an address as
// long as it has any.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "middlebox/policy/port_map.hpp"
#include "simco/wire/ip.hpp"
#include "simco/wire/reply_code.hpp"

namespace simco::policy {

/// An array of numbers that finds a sufficiently large number in logarithmic time, by a tree of
/// maxima above it. Not thread-safe.
class MaxTree {
 public:
  /// `size` numbers, all `value`.
  MaxTree(std::uint32_t size, std::uint16_t value)
      : leaves_(std::bit_ceil(std::max(size, 1U))), nodes_(2 * std::size_t{leaves_}) {
    for (std::uint32_t i = 0; i < size; ++i) nodes_[leaves_ + i] = value;
    for (std::uint32_t node = leaves_ - 1; node >= 1; --node) refresh(node);
  }

  std::uint16_t operator[](std::uint32_t index) const { return nodes_[leaves_ + index]; }

  void set(std::uint32_t index, std::uint16_t value) {
    std::uint32_t node = leaves_ + index;
    nodes_[node] = value;
    while ((node /= 2) >= 1) refresh(node);
  }

  /// Returns the first index at `from` or later whose number is at least `value`, otherwise the
  /// first such index at all, or nullopt.
  std::optional<std::uint32_t> find(std::uint32_t from, std::uint16_t value) const {
    if (const auto found = find_in(1, 0, leaves_, from, value)) return found;
    return find_in(1, 0, leaves_, 0, value);
  }

 private:
  void refresh(std::uint32_t node) {
    nodes_[node] = std::max(nodes_[2 * std::size_t{node}], nodes_[2 * std::size_t{node} + 1]);
  }
  std::optional<std::uint32_t> find_in(std::uint32_t node, std::uint32_t begin, std::uint32_t size,
                                       std::uint32_t from, std::uint16_t value) const {
    if (begin + size <= from || nodes_[node] < value) return std::nullopt;
    if (size == 1) return begin;
    const std::uint32_t half = size / 2;
    if (const auto found = find_in(2 * node, begin, half, from, value)) return found;
    return find_in(2 * node + 1, begin + half, half, from, value);
  }

  std::uint32_t leaves_;
  std::vector<std::uint16_t> nodes_;  ///< root at 1, children of i at 2i and 2i + 1
};

/// `count` consecutive addresses.
struct AddressRange {
  IpAddress first;
  std::uint32_t count = 1;
};

/// Returns the address `offset` places after `address`.
IpAddress advance(const IpAddress& address, std::uint32_t offset);

/// The part of a pool that a rule holds.
struct Binding {
  static constexpr std::uint32_t kNone = 0xFFFF'FFFF;
  std::uint32_t address = kNone;  ///< number of the address in its pool
  std::uint16_t port = 0;         ///< first port; 0: the whole address
  std::uint16_t ports = 0;        ///< consecutive ports; 0: the whole address
  bool paired = false;            ///< counts for its host's pairing
  bool exists() const { return address != kNone; }
};

/// Allocates addresses and ports. Not thread-safe.
class AddressPool {
 public:
  struct Options {
    std::vector<AddressRange> ranges;  ///< at most kPoolAddressesMax addresses
    std::uint16_t first_port = 1024;
    std::uint16_t last_port = 65535;
    bool paired = true;
  };
  /// A request to the pool.
  struct Request {
    std::uint8_t protocol = kProtocolAny;  ///< kProtocolAny: a whole address
    std::uint16_t ports = 1;               ///< kAnyPortRange: every port of the pool
    Parity parity = Parity::kAny;
    std::optional<IpAddress> host;  ///< internal host of the rule, if known
  };

  explicit AddressPool(const Options& options);

  bool empty() const { return addresses_ == 0; }
  /// How much of the pool is taken.
  struct Usage {
    std::uint32_t addresses = 0;
    std::uint32_t addresses_in_use = 0;  ///< with bindings
    std::uint64_t ports_in_use = 0;      ///< of all protocols
  };
  Usage usage() const { return {addresses_, addresses_in_use_, ports_in_use_}; }
  /// Returns the number of ports of each address, per protocol; the pool must not be empty.
  std::uint16_t port_count() const { return free_->longest(Parity::kAny); }
  /// Returns address number `index` of the pool.
  IpAddress address(std::uint32_t index) const;

  /// Allocates addresses and ports. Fails with kLackOfAddresses, kLackOfPorts, or kParityMismatch
  /// if no port of the pool has the parity.
  std::expected<Binding, NegativeReplyCode> take(const Request& request);
  /// Allocates exactly `ports` ports (0: the whole address) from `port` of `address` on. Returns
  /// false if they are not in the pool or in use. The caller must pair() the binding afterwards.
  bool reclaim(const IpAddress& address, std::uint8_t protocol, std::uint16_t port,
               std::uint16_t ports, Binding& binding);
  /// Releases a binding; `host` must be that of take() or pair().
  void give_back(const Binding& binding, std::uint8_t protocol,
                 const std::optional<IpAddress>& host);
  /// Sets the host of a binding that was allocated before its host was known.
  void pair(Binding& binding, const IpAddress& host);

 private:
  /// The ports of a protocol at all addresses.
  struct Protocol {
    Protocol(std::uint32_t addresses, const PortMap& free);
    std::vector<std::unique_ptr<PortMap>> maps;  ///< created when first needed; null: all free
    std::array<MaxTree, 3> longest;              ///< by parity: longest free run per address
  };
  struct Pairing {
    std::uint32_t address;
    std::uint32_t bindings;
  };

  Protocol& protocol(std::uint8_t number);
  std::expected<std::uint32_t, NegativeReplyCode> choose(const Protocol& of, std::uint16_t ports,
                                                         const Request& request);
  std::expected<Binding, NegativeReplyCode> take_address();
  Binding hold_whole(std::uint32_t address);
  std::optional<std::uint32_t> find_address(const IpAddress& address) const;
  std::optional<std::uint32_t> paired_address(const std::optional<IpAddress>& host) const;
  /// Updates the search trees with the free ports of `address`.
  void refresh(Protocol& of, std::uint32_t address);
  void hold(std::uint32_t address);
  void release(std::uint32_t address);

  Options options_;
  std::uint32_t addresses_ = 0;
  std::unique_ptr<const PortMap>
      free_;  ///< an address with all ports free; null if the pool is empty
  std::map<std::uint8_t, Protocol> protocols_;
  std::vector<std::uint32_t> held_;  ///< bindings per address
  std::vector<bool> whole_;          ///< held as a whole
  std::uint32_t wholes_ = 0;
  std::uint32_t addresses_in_use_ = 0;
  std::uint64_t ports_in_use_ = 0;
  MaxTree unused_;  ///< 1 for addresses without bindings
  std::uint32_t next_address_ = 0;
  std::map<IpAddress, Pairing> pairings_;
};

}  // namespace simco::policy
