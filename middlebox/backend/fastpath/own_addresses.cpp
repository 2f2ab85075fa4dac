#include "middlebox/backend/fastpath/own_addresses.hpp"

#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "middlebox/backend/fastpath/netlink.hpp"

namespace simco::backend::fastpath {
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

}  // namespace simco::backend::fastpath
