// The NAT's side of policy rules: which outside and inside addresses and ports each has (RFC 4540
// sections 8.2.3, 8.3.3 and 8.4.3). A traditional NAT gives a rule an outside tuple (A2) that
// stands for its internal one (A0); a twice NAT gives it an inside tuple (A1) for its external one
// (A3) as well.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "middlebox/policy/address_pool.hpp"
#include "middlebox/policy/rule.hpp"

namespace simco::policy {

/// What kind of middlebox this is (1.1).
enum class Mode : std::uint8_t { kFirewall, kNat, kTwiceNat };

class NatTable {
 public:
  struct Options {
    Mode mode = Mode::kFirewall;
    std::vector<AddressRange> outside;  ///< pool of A2; not on a firewall
    std::vector<AddressRange> inside;   ///< pool of A1; twice NAT only
    std::uint16_t first_port = 1024;    ///< of either pool
    std::uint16_t last_port = 65535;
    bool paired = true;  ///< rules of one host share an address
  };
  /// What a PRR asks for.
  struct Reservation {
    IpVersion version = IpVersion::kIpv4;
    std::uint8_t protocol = kProtocolAny;
    std::uint16_t ports = 1;
    Parity parity = Parity::kAny;
  };

  /// Pools: outside IPv4, outside IPv6, inside IPv4, inside IPv6.
  struct Usage {
    std::array<AddressPool::Usage, 4> pools{};
  };
  Usage usage() const {
    return {
        {outside_.ipv4.usage(), outside_.ipv6.usage(), inside_.ipv4.usage(), inside_.ipv6.usage()}};
  }

  explicit NatTable(const Options& options);

  Mode mode() const { return mode_; }
  bool translates() const { return mode_ != Mode::kFirewall; }
  /// IP versions that every pool in use has addresses of, as the bits of 4.3.3.
  std::uint8_t versions() const;

  /// Takes what a reservation asks for, or says why it cannot be had.
  std::optional<NegativeReplyCode> take(RuleSlot slot, const Reservation& wanted);
  /// Takes what the enable rule in `slot` needs.
  std::optional<NegativeReplyCode> take(RuleSlot slot, const Rule& rule);
  /// Takes exactly `outside` and, on a twice NAT, `inside` for the rule in `slot`, which held them
  /// in an earlier life: false where that cannot be any more.
  bool take_again(RuleSlot slot, const Rule& rule, const std::optional<AddressTuple>& outside,
                  const std::optional<AddressTuple>& inside);
  /// The reservation in `slot` has become the enable rule `rule`.
  void adopt(RuleSlot slot, const Rule& rule);
  /// Does what is reserved in `slot` fit the enable request? Nothing where it does.
  std::optional<NegativeReplyCode> check_reserved(RuleSlot slot, const AddressTuple& internal,
                                                  const AddressTuple& external,
                                                  PerParameterSet parameters) const;
  void give_back(RuleSlot slot, const Rule& rule);

  /// The tuple that stands for the rule outside, A2, where the box translates.
  AddressTuple outside(RuleSlot slot, const Rule& rule) const;
  /// The tuple that stands for the rule inside, A1, on a twice NAT.
  AddressTuple inside(RuleSlot slot, const Rule& rule) const;

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

  static Pools make_pools(const Options& options, const std::vector<AddressRange>& ranges);
  std::optional<NegativeReplyCode> take(RuleSlot slot, IpVersion version,
                                        const AddressPool::Request& outside,
                                        const AddressPool::Request& inside);
  Bindings& at(RuleSlot slot);
  const Bindings& at(RuleSlot slot) const { return bindings_[slot.value]; }

  Mode mode_;
  Pools outside_;
  Pools inside_;
  std::deque<Bindings> bindings_;  ///< by slot; never copied when it grows
};

}  // namespace simco::policy
