// Asks the kernel by netlink, ioctl() and /proc; all but the question about IPsec needs no
// privileges.
#include "middlebox/backend/fastpath/premises.hpp"

#include <libmnl/libmnl.h>
#include <linux/ethtool.h>
#include <linux/fib_rules.h>
#include <linux/genetlink.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <linux/xfrm.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>

#include "middlebox/backend/fastpath/limits.hpp"

namespace simco::backend::fastpath {
namespace {

// --- Questions by netlink, answered at once ------------------------------------------------------

using NetlinkBuffer = std::array<char, kNetlinkOctets>;
using Reader = std::function<void(const nlmsghdr*)>;
using AttributeReader = std::function<void(const nlattr*)>;

int pass_on(const nlmsghdr* message, void* reader) {
  (*static_cast<const Reader*>(reader))(message);
  return MNL_CB_OK;
}

int pass_attribute(const nlattr* attribute, void* reader) {
  (*static_cast<const AttributeReader*>(reader))(attribute);
  return MNL_CB_OK;
}

/// The end of an answer, of either kind, begins with an error number. libmnl's own function
/// overlooks that of a dump.
int finish(const nlmsghdr* message, void* /*reader*/) {
  const bool has_number = mnl_nlmsg_get_payload_len(message) >= sizeof(int);
  const int error = has_number ? -*static_cast<const int*>(mnl_nlmsg_get_payload(message)) : 0;
  errno = error;
  return error == 0 ? MNL_CB_STOP : MNL_CB_ERROR;
}

/// Sends a request, which asks for a dump or an acknowledgement, on that bus (NETLINK_...) and has
/// `read` look at all messages of the answer. `strict`: the kernel honours the filters in the
/// header of a dump. Returns 0, or the error (errno) if there is no answer, or not all of it.
int ask(int bus, nlmsghdr* request, const Reader& read, bool strict = false) {
  const std::unique_ptr<mnl_socket, decltype(&mnl_socket_close)> socket(
      mnl_socket_open2(bus, SOCK_CLOEXEC), &mnl_socket_close);
  if (!socket || mnl_socket_bind(socket.get(), 0, MNL_SOCKET_AUTOPID) < 0) return errno;
  int yes = 1;
  if (strict && mnl_socket_setsockopt(socket.get(), NETLINK_GET_STRICT_CHK, &yes, sizeof yes) < 0)
    return errno;
  request->nlmsg_seq = 1;
  const auto port = mnl_socket_get_portid(socket.get());
  if (mnl_socket_sendto(socket.get(), request, request->nlmsg_len) < 0) return errno;
  std::array<mnl_cb_t, NLMSG_DONE + 1> ends = {nullptr, nullptr, finish, finish};
  static_assert(NLMSG_ERROR == 2 && NLMSG_DONE == 3);
  NetlinkBuffer answer{};
  Reader reader = read;
  for (;;) {
    const auto size = mnl_socket_recvfrom(socket.get(), answer.data(), answer.size());
    if (size <= 0) return size < 0 ? errno : ENODATA;
    const int state = mnl_cb_run2(answer.data(), static_cast<std::size_t>(size), 1, port, pass_on,
                                  &reader, ends.data(), ends.size());
    if (state < 0) return errno;
    if (state == MNL_CB_STOP) return 0;
  }
}

/// Returns whether such an error means that the kernel does not have the requested object.
bool says_absent(int error) {
  return error == EAFNOSUPPORT || error == EPROTONOSUPPORT || error == EOPNOTSUPP ||
         error == ENOENT;
}

/// Calls `read` with each attribute of a message whose own header has `header` octets.
void for_each_attribute(const nlmsghdr* message, std::size_t header, AttributeReader read) {
  mnl_attr_parse(message, static_cast<unsigned>(header), pass_attribute, &read);
}

// --- Interfaces ----------------------------------------------------------------------------------

bool ask_device(unsigned long what, const std::string& interface, ifreq& request) {
  interface.copy(request.ifr_name, IFNAMSIZ - 1);
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const bool answered = ::ioctl(socket, what, &request) == 0;
  ::close(socket);
  return answered;
}

bool ask_ethtool(const std::string& interface, void* command) {
  ifreq request{};
  request.ifr_data = static_cast<char*>(command);
  return ask_device(SIOCETHTOOL, interface, request);
}

/// A command of ethtool, followed by `count` further elements; words, for the alignment.
template <class Command, class Element>
struct WithElements {
  explicit WithElements(std::size_t count)
      : words((sizeof(Command) + count * sizeof(Element)) / sizeof(std::uint32_t) + 1) {}
  Command* operator->() { return reinterpret_cast<Command*>(words.data()); }
  Element* elements() { return reinterpret_cast<Element*>(operator->() + 1); }
  std::vector<std::uint32_t> words;
};

using Name = std::array<char, ETH_GSTRING_LEN>;

/// The names of all features, by their numbers; empty if the kernel does not tell.
std::vector<Name> feature_names(const std::string& interface) {
  WithElements<ethtool_sset_info, std::uint32_t> sizes(1);
  sizes->cmd = ETHTOOL_GSSET_INFO;
  sizes->sset_mask = 1ULL << ETH_SS_FEATURES;
  if (!ask_ethtool(interface, sizes.words.data()) || sizes->sset_mask == 0) return {};
  const std::uint32_t count = *sizes.elements();
  WithElements<ethtool_gstrings, Name> names(count);
  names->cmd = ETHTOOL_GSTRINGS;
  names->string_set = ETH_SS_FEATURES;
  names->len = count;
  if (!ask_ethtool(interface, names.words.data())) return {};
  return {names.elements(), names.elements() + count};
}

}  // namespace

std::optional<std::array<std::uint8_t, 6>> hardware_address(const std::string& interface) {
  ifreq request{};
  if (!ask_device(SIOCGIFHWADDR, interface, request)) return std::nullopt;
  if (request.ifr_hwaddr.sa_family != ARPHRD_ETHER) return std::nullopt;
  std::array<std::uint8_t, 6> address{};
  std::memcpy(address.data(), request.ifr_hwaddr.sa_data, address.size());
  return address;
}

bool is_veth(const std::string& interface) {
  ethtool_drvinfo info{};
  info.cmd = ETHTOOL_GDRVINFO;
  return ask_ethtool(interface, &info) && std::string_view(info.driver) == "veth";
}

std::optional<bool> has_feature(const std::string& interface, std::string_view feature) {
  const auto names = feature_names(interface);
  const auto found =
      std::ranges::find_if(names, [&](const Name& name) { return feature == name.data(); });
  if (names.empty()) return std::nullopt;
  if (found == names.end()) return false;
  const std::size_t bits = std::numeric_limits<std::uint32_t>::digits;  // of a block
  const auto number = static_cast<std::size_t>(found - names.begin());
  const std::size_t blocks = (names.size() + bits - 1) / bits;
  WithElements<ethtool_gfeatures, ethtool_get_features_block> features(blocks);
  features->cmd = ETHTOOL_GFEATURES;
  features->size = static_cast<std::uint32_t>(blocks);
  if (!ask_ethtool(interface, features.words.data())) return std::nullopt;
  return (features.elements()[number / bits].active >> number % bits & 1) != 0;
}

namespace {

IpPrefix destination_of(const nlmsghdr* message, IpVersion version) {
  const auto& route = *static_cast<const rtmsg*>(mnl_nlmsg_get_payload(message));
  IpPrefix own{{version, {}}, route.rtm_dst_len};
  for_each_attribute(message, sizeof route, [&](const nlattr* attribute) {
    if (mnl_attr_get_type(attribute) != RTA_DST) return;
    const std::size_t size = mnl_attr_get_payload_len(attribute);
    std::memcpy(own.address.octets.data(), mnl_attr_get_payload(attribute),
                std::min(size, own.address.octets.size()));
  });
  return own;
}

/// Returns false if there is no answer.
bool read_of(IpVersion version, std::vector<IpPrefix>& own) {
  NetlinkBuffer buffer{};
  nlmsghdr* const request = mnl_nlmsg_put_header(buffer.data());
  request->nlmsg_type = RTM_GETROUTE;
  request->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  auto* const header = static_cast<rtmsg*>(mnl_nlmsg_put_extra_header(request, sizeof(rtmsg)));
  header->rtm_family = version == IpVersion::kIpv4 ? AF_INET : AF_INET6;
  header->rtm_table = RT_TABLE_LOCAL;  // not the others, which may have a million routes
  header->rtm_type = RTN_LOCAL;
  const auto keep = [&](const nlmsghdr* message) {
    const auto& route = *static_cast<const rtmsg*>(mnl_nlmsg_get_payload(message));
    if (message->nlmsg_type == RTM_NEWROUTE && route.rtm_type == RTN_LOCAL)
      own.push_back(destination_of(message, version));
  };
  const int error = ask(NETLINK_ROUTE, request, keep, true);
  return error == 0 || says_absent(error);
}

}  // namespace

std::optional<std::vector<IpPrefix>> read_own_addresses() {
  std::vector<IpPrefix> own;
  if (!read_of(IpVersion::kIpv4, own) || !read_of(IpVersion::kIpv6, own)) return std::nullopt;
  std::ranges::sort(own);
  return own;
}

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
