// Asks the kernel by netlink and /proc; all but the question about IPsec needs no privileges.
#include "middlebox/backend/fastpath/premises.hpp"

#include <linux/fib_rules.h>
#include <linux/genetlink.h>
#include <linux/rtnetlink.h>
#include <linux/xfrm.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "middlebox/backend/fastpath/device.hpp"
#include "middlebox/backend/fastpath/netlink.hpp"

namespace simco::backend::fastpath {
namespace {

// --- Abilities of drivers ------------------------------------------------------------------------

/// The family "netdev" of generic netlink (Linux 6.3), which older headers do not have.
constexpr const char* kNetdevFamily = "netdev";
constexpr std::uint8_t kNetdevDeviceGet = 1;
constexpr std::uint16_t kNetdevInterface = 1;
constexpr std::uint16_t kNetdevFeatures = 3;
constexpr std::uint64_t kNetdevSendsRedirected = 4;

nlmsghdr* generic_request(NetlinkBuffer& buffer, std::uint16_t family, std::uint8_t command) {
  nlmsghdr* const request = mnl_nlmsg_put_header(buffer.data());
  request->nlmsg_type = family;
  request->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
  auto* const header =
      static_cast<genlmsghdr*>(mnl_nlmsg_put_extra_header(request, sizeof(genlmsghdr)));
  header->cmd = command;
  header->version = 1;
  return request;
}

/// Returns the number of that family, 0 if the kernel does not have it.
std::uint16_t netdev_family() {
  NetlinkBuffer buffer{};
  nlmsghdr* const request = generic_request(buffer, GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
  mnl_attr_put_strz(request, CTRL_ATTR_FAMILY_NAME, kNetdevFamily);
  std::uint16_t number = 0;
  ask(NETLINK_GENERIC, request, [&](const nlmsghdr* message) {
    for_each_attribute(message, sizeof(genlmsghdr), [&](const nlattr* attribute) {
      if (mnl_attr_get_type(attribute) == CTRL_ATTR_FAMILY_ID) number = mnl_attr_get_u16(attribute);
    });
  });
  return number;
}

/// Returns the driver's abilities in XDP; nullopt if the kernel cannot tell.
std::optional<std::uint64_t> xdp_features(const std::string& interface) {
  const auto family = netdev_family();
  if (family == 0) return std::nullopt;
  NetlinkBuffer buffer{};
  nlmsghdr* const request = generic_request(buffer, family, kNetdevDeviceGet);
  mnl_attr_put_u32(request, kNetdevInterface, ::if_nametoindex(interface.c_str()));
  std::optional<std::uint64_t> features;
  ask(NETLINK_GENERIC, request, [&](const nlmsghdr* message) {
    for_each_attribute(message, sizeof(genlmsghdr), [&](const nlattr* attribute) {
      if (mnl_attr_get_type(attribute) == kNetdevFeatures) features = mnl_attr_get_u64(attribute);
    });
  });
  return features;
}

// --- The kernel's treatment of forwarded packets -------------------------------------------------

/// A rule of the kernel's own: all packets, that table.
bool is_own_rule(const nlmsghdr* message) {
  const auto& header = *static_cast<const fib_rule_hdr*>(mnl_nlmsg_get_payload(message));
  bool plain = header.action == FR_ACT_TO_TBL && (header.flags & FIB_RULE_INVERT) == 0 &&
               header.src_len == 0 && header.dst_len == 0 && header.tos == 0;
  std::uint32_t priority = 0;
  std::uint32_t table = header.table;
  for_each_attribute(message, sizeof header, [&](const nlattr* attribute) {
    switch (mnl_attr_get_type(attribute)) {
      case FRA_PRIORITY: priority = mnl_attr_get_u32(attribute); break;
      case FRA_TABLE: table = mnl_attr_get_u32(attribute); break;
      case FRA_SUPPRESS_PREFIXLEN: plain = plain && mnl_attr_get_u32(attribute) == ~0U; break;
      case FRA_PROTOCOL: break;  // its maker
      default: plain = false;    // selects packets, or does something else with them
    }
  });
  constexpr std::uint32_t kMain = 32766;
  constexpr std::uint32_t kDefault = 32767;
  return plain && ((priority == 0 && table == RT_TABLE_LOCAL) ||
                   (priority == kMain && table == RT_TABLE_MAIN) ||
                   (priority == kDefault && table == RT_TABLE_DEFAULT));
}

/// Returns whether routes depend on more than the destination, by rules beside the kernel's own, or
/// the kernel does not tell.
bool routes_by_policy(std::uint8_t family) {
  NetlinkBuffer buffer{};
  nlmsghdr* const request = mnl_nlmsg_put_header(buffer.data());
  request->nlmsg_type = RTM_GETRULE;
  request->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  auto* const header =
      static_cast<fib_rule_hdr*>(mnl_nlmsg_put_extra_header(request, sizeof(fib_rule_hdr)));
  header->family = family;
  bool found = false;
  const int error = ask(NETLINK_ROUTE, request,
                        [&](const nlmsghdr* message) { found = found || !is_own_rule(message); });
  return found || (error != 0 && !says_absent(error));
}

/// Returns whether the kernel has policies of IPsec, or does not say that it has none. Without
/// CAP_NET_ADMIN it says nothing, and there can be no link either.
bool has_ipsec_policies() {
  NetlinkBuffer buffer{};
  nlmsghdr* const request = mnl_nlmsg_put_header(buffer.data());
  request->nlmsg_type = XFRM_MSG_GETSPDINFO;
  request->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
  mnl_nlmsg_put_extra_header(request, sizeof(std::uint32_t));
  bool found = false;
  const int error = ask(NETLINK_XFRM, request, [&](const nlmsghdr* message) {
    for_each_attribute(message, sizeof(std::uint32_t), [&](const nlattr* attribute) {
      if (mnl_attr_get_type(attribute) != XFRMA_SPD_INFO) return;
      if (mnl_attr_get_payload_len(attribute) < sizeof(xfrmu_spdinfo)) return;
      xfrmu_spdinfo counts{};
      std::memcpy(&counts, mnl_attr_get_payload(attribute), sizeof counts);
      found = counts.incnt != 0 || counts.outcnt != 0 || counts.fwdcnt != 0;
    });
  });
  return found || (error != 0 && error != EPERM && !says_absent(error));
}

int rp_filter_of(const std::string& name) {
  int value = 0;
  std::ifstream("/proc/sys/net/ipv4/conf/" + name + "/rp_filter") >> value;
  return value;
}

}  // namespace

std::optional<std::string> unmet_premise(const std::string& internal_if,
                                         const std::string& external_if) {
  for (const auto& name : {internal_if, external_if}) {
    if (std::max(rp_filter_of("all"), rp_filter_of(name)) != 0)
      return "rp_filter of " + name + " is on, and XDP would not obey it: sysctl net.ipv4.conf." +
             name + ".rp_filter=0, and that of all";
    for (const char* feature : {"rx-vlan-hw-parse", "rx-vlan-stag-hw-parse"}) {
      if (!has_feature(name, feature).value_or(true)) continue;
      return name + " takes VLAN tags out of packets, and XDP would not see them: ethtool -K " +
             name + " " + feature + " off";
    }
  }
  for (const auto family : {AF_INET, AF_INET6}) {
    if (routes_by_policy(static_cast<std::uint8_t>(family)))
      return "there are rules of policy routing (ip rule), and XDP would not obey all of them";
  }
  if (has_ipsec_policies())
    return "there are IPsec policies (ip xfrm policy), and XDP would send packets unencrypted";
  return std::nullopt;
}

std::optional<std::string> cannot_send(const std::string& interface) {
  const auto features = xdp_features(interface);
  const bool veth = is_veth(interface);
  if (features && (*features & kNetdevSendsRedirected) == 0) {
    if (veth)
      return "the peer of " + interface +
             ", a veth, takes no redirected packets (ethtool -K PEER gro on)";
    return "the driver of " + interface + " sends no redirected packets";
  }
  if (!features && veth)
    return interface + " is a veth: before Linux 6.3 its peer may take no redirected packets";
  return std::nullopt;
}

}  // namespace simco::backend::fastpath
