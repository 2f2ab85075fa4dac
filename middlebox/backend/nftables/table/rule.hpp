// An nf_tables rule in the making: expressions of libnftnl, in the order in which the kernel
// evaluates them. The first that does not hold ends the rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "middlebox/backend/nftables/netlink.hpp"

struct nftnl_rule;

namespace simco::backend::nftables {

class Rule {
 public:
  Rule(const std::string& table, const std::string& chain);

  // Loads put a value into 32-bit registers from `reg` (0 to 15) on.
  Rule& load_meta(std::uint32_t key, std::uint32_t reg);
  Rule& load_ct(std::uint32_t key, std::uint32_t reg);
  Rule& load_ct(std::uint32_t key, std::uint8_t direction, std::uint32_t reg);
  Rule& load_network(std::uint32_t offset, std::uint32_t size, std::uint32_t reg);
  Rule& load_transport(std::uint32_t offset, std::uint32_t size, std::uint32_t reg);
  Rule& mask(std::uint32_t reg, std::span<const std::byte> mask);
  /// Matches the fragments of an IPv6 packet that come after the first. The kernel (6.18) compares
  /// the ports of such a fragment with the beginning of its header.
  Rule& later_fragment();

  Rule& equals(std::uint32_t reg, std::span<const std::byte> octets);
  Rule& equals(std::uint32_t reg, std::uint8_t value);
  Rule& differs(std::uint32_t reg, std::span<const std::byte> octets);
  /// The packet is of this IP version (AF_INET or AF_INET6), of this protocol.
  Rule& ip_version(std::uint8_t family);
  Rule& protocol(std::uint8_t protocol);
  Rule& not_protocol(std::uint8_t protocol);
  Rule& interface(std::uint32_t key, const std::string& name);
  /// Register 0 holds `bits` of `key` (state or status), or, with `set` false, none of them.
  Rule& ct_bits(std::uint32_t key, std::uint32_t bits, bool set);
  Rule& ct_direction(std::uint8_t direction);
  Rule& within(std::uint32_t reg, std::span<const std::byte> first,
               std::span<const std::byte> last);

  /// The best route to the packet's source does not lead back out of its input interface.
  Rule& unroutable_source();

  /// The best route to the packet's destination leads out of the interface of that name.
  Rule& routed_to(const std::string& interface);
  /// Has the kernel put fragments together before the packet is looked at, as soon as there is such
  /// a rule in any chain; in a chain that packets pass, it would also redirect them.
  Rule& defragment();
  /// Connection tracking does not follow the packet.
  Rule& untrack();

  Rule& in_set(const std::string& set);
  Rule& not_in_set(const std::string& set);
  /// Replaces the key in register 0 with the map's value.
  Rule& map(const std::string& map);
  /// Translates to the address in register 0 and, unless `port_reg` is 0, the port there.
  Rule& translate(std::uint32_t type, std::uint32_t family, std::uint32_t port_reg);
  /// Counts the packet in the table's counter object of that name.
  Rule& count(const std::string& counter);
  Rule& verdict(int code, const std::string& chain = {});

  void add_to(MessageBuffer& batch);

 private:
  struct Free {
    void operator()(nftnl_rule* rule) const;
  };
  std::unique_ptr<nftnl_rule, Free> rule_;
};

}  // namespace simco::backend::nftables
