// The fixed part of the data path: table, chains, sets and the rules that look packets up in them.
// Messages for the kernel are made here with libnftnl; nothing is sent.
//
// The chains:
//   forward              packets between the two interfaces, by direction and IP version, to
//   from-outside4/6      what comes from the external network
//   from-inside4/6       what comes from the internal network
//   errors-outside4/6    ICMP errors that come from outside, judged by the flow they are about
//   errors-inside4/6     the same from inside
//   prerouting           translates destinations (NAT)
//   postrouting          translates sources (NAT)
//   input                keeps packets to unbound ports of the NAT's pools from the router (NAT)
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "middlebox/backend/nftables/element.hpp"
#include "middlebox/backend/nftables/limits.hpp"
#include "middlebox/backend/nftables/netlink.hpp"
#include "middlebox/backend/nftables/table_state.hpp"
#include "simco/wire/ip.hpp"

namespace simco::backend::nftables {

struct Pool {
  IpAddress first;
  IpAddress last;
};

struct Options {
  std::string table = "simco";
  /// False: the table is the site's; its chains jump to our chains, which have a "simco-" before
  /// their names, and what no rule of ours decides goes back to the site's.
  bool own_table = true;
  std::string internal_if;
  std::string external_if;
  /// What the internal network begins may pass without a rule, and be answered.
  bool allow_outbound = false;
  bool keep_on_stop = false;  ///< leave the table when the middlebox stops
  bool nat = false;
  std::vector<Pool> outside_pool;   ///< NAT: addresses whose ports belong to the bindings
  std::vector<Pool> inside_pool;    ///< twice NAT
  std::uint16_t first_port = 1024;  ///< of the pools
  std::uint16_t last_port = 65535;
  std::chrono::milliseconds shape_idle = kShapeIdle;  ///< tests have less patience
};

/// By which the middlebox knows that a table is its own: the table's comment.
inline constexpr const char* kTableComment = "made by simco-middlebox";

/// Makes messages. Those of one batch go into one MessageBuffer.
class Ruleset {
 public:
  explicit Ruleset(const Options& options) : options_(options) {}

  /// The table where it is ours, and all chains, empty.
  void add_frame(MessageBuffer& batch) const;
  void add_set(const Shape& shape, MessageBuffer& batch) const;
  void remove_set(const Shape& shape, MessageBuffer& batch) const;
  /// Replaces the rules of all chains by those that look up `shapes`.
  void replace_rules(const std::vector<Shape>& shapes, MessageBuffer& batch) const;
  void remove_table(MessageBuffer& batch) const;
  /// Removes what is ours from a site's table that looks like `state`.
  void clear_site_table(const TableState& state, MessageBuffer& batch) const;

  /// Chains that the site's chains jump to, by their names in the kernel.
  std::vector<std::string> entry_chains() const;
  /// The name of the shape's set in the kernel.
  std::string set_in_kernel(const Shape& shape) const { return chain(set_name(shape).c_str()); }
  /// True for names that only ours have.
  bool is_ours(const std::string& name) const {
    return options_.own_table || name.starts_with("simco-");
  }
  /// Every chain's name in the kernel.
  std::vector<std::string> chains() const;

 private:
  std::string chain(const char* name) const;
  void flush_chain(const std::string& name, MessageBuffer& batch) const;

  const Options& options_;
};

/// Octets of a key of `shape` as the kernel compares them; `end` is the last key of an interval.
struct KeyOctets {
  std::array<std::byte, 48> octets{};
  std::uint32_t size = 0;
};
KeyOctets key_octets(const Shape& shape, const Key& key, bool end = false);
/// Octets of a translation's target.
KeyOctets target_octets(const Shape& shape, const Target& target);

}  // namespace simco::backend::nftables
