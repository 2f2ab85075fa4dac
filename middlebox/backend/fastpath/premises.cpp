// Asks the kernel by netlink, /proc and ioctl(), all of which need no privileges.
#include "middlebox/backend/fastpath/premises.hpp"

#include <libmnl/libmnl.h>
#include <linux/ethtool.h>
#include <linux/fib_rules.h>
#include <linux/genetlink.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <string_view>

#include "middlebox/backend/fastpath/limits.hpp"

namespace simco::backend::fastpath {
namespace {

// --- Questions by netlink ------------------------------------------------------------------------

/// The family "netdev" of generic netlink (Linux 6.3), which older headers do not have.
constexpr const char* kNetdevFamily = "netdev";
constexpr std::uint8_t kNetdevDeviceGet = 1;
constexpr std::uint16_t kNetdevInterface = 1;
constexpr std::uint16_t kNetdevFeatures = 3;
constexpr std::uint64_t kNetdevSendsRedirected = 4;

using Reader = std::function<void(const nlmsghdr*)>;
using Buffer = std::array<char, kNetlinkOctets>;

int pass_on(const nlmsghdr* message, void* reader) {
  (*static_cast<const Reader*>(reader))(message);
  return MNL_CB_OK;
}

/// Sends a request and has `read` look at all messages of the answer. Returns false if there is
/// none.
bool ask(int bus, nlmsghdr* request, const Reader& read) {
  const std::unique_ptr<mnl_socket, decltype(&mnl_socket_close)> socket(
      mnl_socket_open2(bus, SOCK_CLOEXEC), &mnl_socket_close);
  if (!socket || mnl_socket_bind(socket.get(), 0, MNL_SOCKET_AUTOPID) < 0) return false;
  request->nlmsg_seq = 1;
  const auto port = mnl_socket_get_portid(socket.get());
  if (mnl_socket_sendto(socket.get(), request, request->nlmsg_len) < 0) return false;
  Buffer answer{};
  Reader reader = read;
  for (;;) {
    const auto size = mnl_socket_recvfrom(socket.get(), answer.data(), answer.size());
    if (size <= 0) return false;
    const int state =
        mnl_cb_run(answer.data(), static_cast<std::size_t>(size), 1, port, pass_on, &reader);
    if (state < 0) return false;
    if (state == MNL_CB_STOP) return true;
  }
}

nlmsghdr* generic_request(Buffer& buffer, std::uint16_t family, std::uint8_t command) {
  nlmsghdr* const request = mnl_nlmsg_put_header(buffer.data());
  request->nlmsg_type = family;
  request->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
  auto* const header =
      static_cast<genlmsghdr*>(mnl_nlmsg_put_extra_header(request, sizeof(genlmsghdr)));
  header->cmd = command;
  header->version = 1;
  return request;
}

using AttributeReader = std::function<void(const nlattr*)>;

int pass_attribute(const nlattr* attribute, void* reader) {
  (*static_cast<const AttributeReader*>(reader))(attribute);
  return MNL_CB_OK;
}

/// Calls `read` with each attribute of a message whose own header has `header` octets.
void for_each_attribute(const nlmsghdr* message, std::size_t header, AttributeReader read) {
  mnl_attr_parse(message, static_cast<unsigned>(header), pass_attribute, &read);
}

/// Returns the number of that family, 0 if the kernel does not have it.
std::uint16_t netdev_family() {
  Buffer buffer{};
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

/// Returns what the driver can do with XDP; nullopt if the kernel cannot say that.
std::optional<std::uint64_t> xdp_features(const std::string& interface) {
  const auto family = netdev_family();
  if (family == 0) return std::nullopt;
  Buffer buffer{};
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

/// Returns whether routes depend on more than the destination: there is a rule beside the kernel's
/// own ones.
bool routes_by_policy(std::uint8_t family) {
  Buffer buffer{};
  nlmsghdr* const request = mnl_nlmsg_put_header(buffer.data());
  request->nlmsg_type = RTM_GETRULE;
  request->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  auto* const header =
      static_cast<fib_rule_hdr*>(mnl_nlmsg_put_extra_header(request, sizeof(fib_rule_hdr)));
  header->family = family;
  bool found = false;
  ask(NETLINK_ROUTE, request, [&](const nlmsghdr* message) {
    std::uint32_t priority = 0;
    for_each_attribute(message, sizeof(fib_rule_hdr), [&](const nlattr* attribute) {
      if (mnl_attr_get_type(attribute) == FRA_PRIORITY) priority = mnl_attr_get_u32(attribute);
    });
    constexpr std::uint32_t kMain = 32766;
    constexpr std::uint32_t kDefault = 32767;
    found = found || (priority != 0 && priority != kMain && priority != kDefault);
  });
  return found;
}

// --- Questions by ioctl() and /proc --------------------------------------------------------------

bool ask_device(unsigned long what, const std::string& interface, ifreq& request) {
  interface.copy(request.ifr_name, IFNAMSIZ - 1);
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const bool answered = ::ioctl(socket, what, &request) == 0;
  ::close(socket);
  return answered;
}

bool is_veth(const std::string& interface) {
  ethtool_drvinfo info{};
  info.cmd = ETHTOOL_GDRVINFO;
  ifreq request{};
  request.ifr_data = reinterpret_cast<char*>(&info);
  return ask_device(SIOCETHTOOL, interface, request) && std::string_view(info.driver) == "veth";
}

int rp_filter_of(const std::string& name) {
  int value = 0;
  std::ifstream("/proc/sys/net/ipv4/conf/" + name + "/rp_filter") >> value;
  return value;
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

std::optional<std::string> unmet_premise(const std::string& internal_if,
                                         const std::string& external_if) {
  constexpr int kStrict = 1;
  for (const auto& name : {internal_if, external_if}) {
    if (std::max(rp_filter_of("all"), rp_filter_of(name)) == kStrict)
      return "rp_filter of " + name + " is strict, and XDP would not obey it";
  }
  for (const auto family : {AF_INET, AF_INET6}) {
    if (routes_by_policy(static_cast<std::uint8_t>(family)))
      return "there are rules of policy routing (ip rule), and XDP would not obey all of them";
  }
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
    return interface + " is a veth, of which Linux before 6.3 does not say what its peer takes";
  return std::nullopt;
}

}  // namespace simco::backend::fastpath
