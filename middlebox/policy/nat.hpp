// The NAT bindings of policy rules: which outside and inside addresses and ports each has (RFC 4540
// sections 8.2.3, 8.3.3 and 8.4.3). A traditional NAT gives a rule an outside tuple (A2) that
// stands for its internal one (A0); a twice NAT gives it an inside tuple (A1) for its external one
// (A3) as well.
//
// Enable rules of an owner with the same internal tuple share the outside tuple (doc/rfc4540.md,
// reading 31), which lives as long as the last of them; with the same external tuple, on a twice
// NAT, the inside tuple. A reservation becomes a binding to share when it is enabled.
#pragma once

#include <array>
#include <boost/container/small_vector.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <deque>
#include <expected>
#include <optional>
#include <vector>

#include "middlebox/policy/address_pool.hpp"
#include "middlebox/policy/rule_table.hpp"

namespace simco::policy {

/// Type of middlebox (RFC 4540 section 1.1).
enum class Mode : std::uint8_t { kFirewall, kTraditionalNat, kTwiceNat };

/// The bindings of all rules. Not thread-safe; reads no clock.
class NatTable {
 public:
  struct Options {
    Mode mode = Mode::kFirewall;
    std::vector<AddressRange> outside;  ///< pool of A2; not on a firewall
    std::vector<AddressRange> inside;   ///< pool of A1; twice NAT only
    std::uint16_t first_port = 1024;    ///< of either pool
    std::uint16_t last_port = 65535;
    bool paired = true;  ///< rules of a host share an address
  };
  /// The request of a PRR.
  struct Reservation {
    IpVersion version = IpVersion::kIpv4;
    std::uint8_t protocol = kProtocolAny;
    std::uint16_t ports = 1;
    Parity parity = Parity::kAny;
  };

  /// Usage of the pools, in the order outside IPv4, outside IPv6, inside IPv4, inside IPv6.
  struct Usage {
    std::array<AddressPool::Usage, 4> pools{};
  };
  Usage usage() const {
    return {{outside_.pools.ipv4.usage(), outside_.pools.ipv6.usage(), inside_.pools.ipv4.usage(),
             inside_.pools.ipv6.usage()}};
  }

  explicit NatTable(const Options& options);

  Mode mode() const { return mode_; }
  bool translates() const { return mode_ != Mode::kFirewall; }
  /// Returns the IP versions of which every pool in use has addresses, as the bits of 4.3.3.
  std::uint8_t versions() const;

  /// Allocates a reservation. Returns the negative reply if that fails.
  std::optional<NegativeReplyCode> take(RuleSlot slot, const Reservation& wanted);
  /// Allocates or shares a binding for the enable rule in `slot`. Returns the negative reply if
  /// that fails.
  std::optional<NegativeReplyCode> take(RuleSlot slot, const Rule& rule);
  /// Allocates exactly `outside` and, on a twice NAT, `inside` for the rule in `slot`, which had
  /// them before a restart. Returns false if they are not available.
  bool reclaim(RuleSlot slot, const Rule& rule, const std::optional<AddressTuple>& outside,
               const std::optional<AddressTuple>& inside, const rule::BindingAges& ages);
  /// Plans that the reservation in `slot` becomes the enable rule `rule`; adopt() or abandon() must
  /// follow.
  void plan_adoption(RuleSlot slot, const Rule& rule);
  void adopt(RuleSlot slot, const Rule& rule);
  void abandon(RuleSlot slot, const Rule& rule);
  /// True if a planned adoption may yield a binding that the enable rule `rule` shares.
  bool awaits_adoption(const Rule& rule) const;
  /// Checks whether the reservation in `slot` fits the enable request. Returns the negative reply
  /// if it does not.
  std::optional<NegativeReplyCode> check_reserved(RuleSlot slot, const AddressTuple& internal,
                                                  const AddressTuple& external,
                                                  PerParameterSet parameters) const;
  /// Releases the binding of the rule in `slot`, unless other rules share it.
  void give_back(RuleSlot slot, const Rule& rule);

  /// Returns the number of rules that have a binding.
  std::size_t holders() const { return holders_; }

  /// Returns the outside tuple of the rule, A2. Only on a NAT.
  AddressTuple outside(RuleSlot slot, const Rule& rule) const;
  /// Returns the inside tuple of the rule, A1. Only on a twice NAT.
  AddressTuple inside(RuleSlot slot, const Rule& rule) const;
  /// Returns the ages of the rule's bindings, for reclaim().
  rule::BindingAges ages(RuleSlot slot, const Rule& rule) const;

 private:
  struct Pools {
    AddressPool ipv4;
    AddressPool ipv6;
    AddressPool& of(IpVersion version) { return version == IpVersion::kIpv4 ? ipv4 : ipv6; }
    const AddressPool& of(IpVersion version) const {
      return version == IpVersion::kIpv4 ? ipv4 : ipv6;
    }
  };
  struct Bindings {
    Binding outside;
    Binding inside;
  };
  /// The endpoint that a binding represents.
  struct Endpoint {
    AgentId owner;
    IpAddress address;
    std::uint8_t protocol = kProtocolAny;
    std::uint16_t port = 0;   ///< 0: wildcarded, or whole addresses
    std::uint16_t range = 0;  ///< number of ports; 0: wildcarded, or whole addresses
    std::uint16_t ports = 0;  ///< number of ports that it is bound to
    friend bool operator==(const Endpoint&, const Endpoint&) = default;
  };
  struct Hash {
    std::size_t operator()(const Endpoint& endpoint) const;
  };
  struct Shared {
    Binding binding;
    std::uint64_t age = 0;    ///< as in rule::BindingAges
    std::uint32_t rules = 1;  ///< that share it
    bool planned = false;  ///< of a reservation whose adoption is planned: must not be shared yet
  };
  /// An endpoint gets a further binding if a reservation is enabled for it.
  using Sharing = boost::container::small_vector<Shared, 1>;
  struct Side {
    Pools pools;
    boost::unordered_flat_map<Endpoint, Sharing, Hash> shared;
  };
  /// The need of a rule on one side.
  struct Need {
    Endpoint endpoint;
    AddressPool::Request request;
  };

  static Pools make_pools(const Options& options, const std::vector<AddressRange>& ranges);
  static Need make_need(AgentId owner, const AddressTuple& own,
                        const AddressPool::Request& request);
  static Need outside_need(const Rule& rule);
  static Need inside_need(const Rule& rule);
  /// Returns the first binding of the endpoint that fits and may be shared, or nullptr.
  static Shared* find_fitting(Sharing& sharing, const Need& need, const AddressPool& pool);
  /// Returns the endpoint's share of this binding, or null; find(): which has one.
  template <class AnySide>
  static auto look_up(AnySide& side, const Need& need, const Binding& binding)
      -> decltype(&side.shared.begin()->second.front());
  static Shared& find(Side& side, const Need& need, const Binding& binding);
  static void forget(Side& side, const Need& need, const Shared& shared);
  static std::uint64_t age_of(const Side& side, const Need& need, const Binding& binding);
  std::expected<Binding, NegativeReplyCode> bind(Side& side, const Need& need);
  static void unbind(Side& side, const Need& need, const Binding& binding);
  bool bind_again(Side& side, const Rule& rule, const Need& need,
                  const std::optional<AddressTuple>& tuple, std::uint64_t age, Binding& binding);
  static void give_back_side(Side& side, const Rule& rule, const Need& need,
                             const Binding& binding);
  static bool awaits_adoption(const Side& side, const Need& need);
  /// Calls act(side, need, binding) for each side that translates.
  template <class Act>
  void for_each_side(RuleSlot slot, const Rule& rule, Act act);
  void hold(RuleSlot slot, const Bindings& bindings);
  Bindings& at(RuleSlot slot);
  const Bindings& at(RuleSlot slot) const { return bindings_[slot.value]; }

  Mode mode_;
  std::uint64_t last_age_ = 0;  ///< of a binding
  Side outside_;
  Side inside_;
  std::deque<Bindings> bindings_;  ///< by slot; never copied when it grows
  std::size_t holders_ = 0;
};

}  // namespace simco::policy
