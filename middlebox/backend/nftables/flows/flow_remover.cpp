// Translates between flows and the messages of ctnetlink, with libnetfilter_conntrack.
#include "middlebox/backend/nftables/flows/flow_remover.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
// The kernel's headers go after the C library's.
#include <libnetfilter_conntrack/libnetfilter_conntrack.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>

#include <cstring>
#include <system_error>

#include "middlebox/backend/nftables/limits.hpp"
#include "simco/log/log.hpp"
#include "simco/wire/assert.hpp"

namespace simco::backend::nftables {
namespace {

constexpr std::uint16_t type_of(int message) {
  return static_cast<std::uint16_t>((NFNL_SUBSYS_CTNETLINK << 8) | message);
}

std::array<std::byte, 16> address_of(const nf_conntrack* flow, IpVersion version,
                                     nf_conntrack_attr ipv4, nf_conntrack_attr ipv6) {
  std::array<std::byte, 16> address{};
  const bool is_ipv4 = version == IpVersion::kIpv4;
  if (const void* octets = nfct_get_attr(flow, is_ipv4 ? ipv4 : ipv6)) {
    std::memcpy(address.data(), octets, is_ipv4 ? 4 : 16);
  }
  return address;
}

Flow flow_of(const nf_conntrack* raw) {
  Flow flow;
  auto& original = flow.original;
  original.version =
      nfct_get_attr_u8(raw, ATTR_L3PROTO) == AF_INET ? IpVersion::kIpv4 : IpVersion::kIpv6;
  original.protocol = nfct_get_attr_u8(raw, ATTR_L4PROTO);
  const auto address = [&](nf_conntrack_attr ipv4, nf_conntrack_attr ipv6) {
    return address_of(raw, original.version, ipv4, ipv6);
  };
  original.source = address(ATTR_ORIG_IPV4_SRC, ATTR_ORIG_IPV6_SRC);
  original.destination = address(ATTR_ORIG_IPV4_DST, ATTR_ORIG_IPV6_DST);
  original.source_port = ntohs(nfct_get_attr_u16(raw, ATTR_ORIG_PORT_SRC));
  original.destination_port = ntohs(nfct_get_attr_u16(raw, ATTR_ORIG_PORT_DST));
  flow.reply_source = address(ATTR_REPL_IPV4_SRC, ATTR_REPL_IPV6_SRC);
  flow.reply_source_port = ntohs(nfct_get_attr_u16(raw, ATTR_REPL_PORT_SRC));
  flow.reply_destination = address(ATTR_REPL_IPV4_DST, ATTR_REPL_IPV6_DST);
  flow.reply_destination_port = ntohs(nfct_get_attr_u16(raw, ATTR_REPL_PORT_DST));
  const auto status = nfct_get_attr_u32(raw, ATTR_STATUS);
  flow.source_translated = (status & IPS_SRC_NAT) != 0;
  flow.destination_translated = (status & IPS_DST_NAT) != 0;
  return flow;
}

}  // namespace

void FlowRemover::Free::operator()(nf_conntrack* flow) const { nfct_destroy(flow); }

FlowRemover::FlowRemover() : scratch_(nfct_new()) { SIMCO_ASSERT(scratch_ != nullptr); }

FlowRemover::~FlowRemover() = default;

MessageBuffer FlowRemover::dump_request() {
  MessageBuffer request;
  request.begin(type_of(IPCTNL_MSG_CT_GET), NLM_F_DUMP, AF_UNSPEC);
  request.end();
  return request;
}

void FlowRemover::remove(const FlowTuple& tuple) {
  const bool ipv4 = tuple.version == IpVersion::kIpv4;
  auto* flow = scratch_.get();
  nfct_set_attr_u8(flow, ATTR_L3PROTO, ipv4 ? AF_INET : AF_INET6);
  nfct_set_attr(flow, ipv4 ? ATTR_IPV4_SRC : ATTR_IPV6_SRC, tuple.source.data());
  nfct_set_attr(flow, ipv4 ? ATTR_IPV4_DST : ATTR_IPV6_DST, tuple.destination.data());
  nfct_set_attr_u8(flow, ATTR_L4PROTO, tuple.protocol);
  nfct_set_attr_u16(flow, ATTR_PORT_SRC, htons(tuple.source_port));
  nfct_set_attr_u16(flow, ATTR_PORT_DST, htons(tuple.destination_port));
  auto* message = messages_.begin(type_of(IPCTNL_MSG_CT_DELETE), 0, ipv4 ? AF_INET : AF_INET6);
  nfct_nlmsg_build(message, flow);
  end_message();
}

void FlowRemover::remove_if(const nlmsghdr* message,
                            const std::function<bool(const Flow&)>& is_over) {
  const std::unique_ptr<nf_conntrack, Free> raw(nfct_new());
  if (!raw || nfct_nlmsg_parse(message, raw.get()) < 0) return;
  const Flow flow = flow_of(raw.get());
  if (!is_over(flow)) return;
  // The tuple as it was read: protocols without ports have other parts.
  auto* removal = messages_.begin(type_of(IPCTNL_MSG_CT_DELETE), 0,
                                  flow.original.version == IpVersion::kIpv4 ? AF_INET : AF_INET6);
  nfct_nlmsg_build(removal, raw.get());
  end_message();
}

void FlowRemover::end_message() {
  messages_.end();
  if (messages_.size() > kRemovalOctets) flush();
}

void FlowRemover::flush() {
  if (messages_.size() == 0) return;
  // This comes after the commit of the rules: it can no longer fail a change.
  try {
    socket_.send(messages_);
    // The kernel has done it by now. It says which flows there were not: most rules have none.
    socket_.discard();
  } catch (const std::system_error& failure) {
    log::error("nftables: flows of ended rules may continue: {}", failure.what());
  }
  messages_.clear();
}

}  // namespace simco::backend::nftables
