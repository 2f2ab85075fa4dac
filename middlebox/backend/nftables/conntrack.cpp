#include "middlebox/backend/nftables/conntrack.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
// The kernel's headers go after the C library's.
#include <libnetfilter_conntrack/libnetfilter_conntrack.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>
#include <system_error>
#include <utility>

#include "middlebox/backend/match/limits.hpp"
#include "middlebox/backend/nftables/limits.hpp"

namespace simco::backend::nftables {
namespace {

constexpr std::uint16_t type_of(int message) {
  return static_cast<std::uint16_t>((NFNL_SUBSYS_CTNETLINK << 8) | message);
}

/// One host and known ports: a rule between two such ends has flows that can be named.
bool is_exact(const AddressTuple& tuple) {
  return has_ports(tuple) && tuple.prefix_length >= address_bits(tuple.ip_version) &&
         tuple.port_range <= match::kPortsPerRuleMax;
}

bool matches(const AddressTuple& tuple, const std::array<std::byte, 16>& address,
             std::uint16_t port) {
  const auto prefix = prefix_of(tuple);
  if (masked({tuple.ip_version, address}, prefix.length) != prefix.address) return false;
  return !has_ports(tuple) || (port >= tuple.port && port - tuple.port < tuple.port_range);
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

std::vector<IpAddress> local_addresses() {
  std::vector<IpAddress> result;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return result;
  for (const auto* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    IpAddress address;
    if (entry->ifa_addr->sa_family == AF_INET) {
      std::memcpy(address.octets.data(),
                  &reinterpret_cast<const sockaddr_in*>(entry->ifa_addr)->sin_addr, 4);
    } else if (entry->ifa_addr->sa_family == AF_INET6) {
      address.version = IpVersion::kIpv6;
      std::memcpy(address.octets.data(),
                  &reinterpret_cast<const sockaddr_in6*>(entry->ifa_addr)->sin6_addr, 16);
    } else {
      continue;
    }
    result.push_back(address);
  }
  ::freeifaddrs(list);
  return result;
}

bool in_pool(const std::vector<Pool>& pools, IpVersion version,
             const std::array<std::byte, 16>& octets) {
  return std::any_of(pools.begin(), pools.end(), [&](const Pool& pool) {
    return pool.first.version == version && pool.first.octets <= octets &&
           octets <= pool.last.octets;
  });
}

}  // namespace

void Conntrack::Free::operator()(nf_conntrack* flow) const { nfct_destroy(flow); }

Conntrack::Conntrack(boost::asio::io_context& io, const Options& options,
                     const match::TupleSpace& elements)
    : options_(options), elements_(elements), scratch_(nfct_new()), dump_(io), timer_(io) {
  if (!scratch_) throw std::bad_alloc();
}

Conntrack::~Conntrack() = default;

void Conntrack::forget(const RuleRecord& ended) {
  const bool exact = is_exact(ended.internal) && is_exact(ended.external);
  if (!exact || !remove_exact(ended, false)) pending_.add(ended);
}

// A flow that began outside goes from A3 to what the internal host is called there, one that began
// inside from A0 to what the external host is called there.
bool Conntrack::remove_exact(const RuleRecord& rule, bool added) {
  const std::size_t count = 2 * std::size_t{rule.internal.port_range};
  if (count > removals_left_) return false;
  removals_left_ -= count;
  const AddressTuple& outside = rule.outside ? *rule.outside : rule.internal;
  const AddressTuple& inside = rule.inside ? *rule.inside : rule.external;
  const auto direction = rule.parameters.direction;
  for (std::uint16_t i = 0; i < rule.internal.port_range; ++i) {
    const auto nth = [i](const AddressTuple& tuple) {
      return static_cast<std::uint16_t>(tuple.port + i);
    };
    const auto version = rule.internal.ip_version;
    const auto protocol = rule.internal.protocol;
    if (!added && !rule.outside &&
        elements_.allows({version, protocol, rule.internal.address, rule.external.address,
                          nth(rule.internal), nth(rule.external)})) {
      continue;
    }
    // A new flow to outside needs the same way back.
    if (direction != Direction::kOutbound || added) {
      remove({version, protocol, rule.external.address, outside.address, nth(rule.external),
              nth(outside)});
    }
    if (direction != Direction::kInbound) {
      remove({version, protocol, rule.internal.address, inside.address, nth(rule.internal),
              nth(inside)});
    }
  }
  return true;
}

// A flow is translated by its first packet only: one that began when its port was not bound, or
// bound to something else, would never be translated as the rule has it.
void Conntrack::make_way(const RuleRecord& added) {
  if (!added.outside) return;
  if (is_exact(added.internal) && is_exact(added.external) && remove_exact(added, true)) return;
  // The sooner the flows of rules that had its ports are gone, the better.
  hurry_ = !pending_.empty();
  // Our own table lets no such flow begin.
  if (!options_.own_table || options_.allow_outbound) untranslated_ = true;
}

void Conntrack::forget_untranslated() {
  untranslated_ = true;
  arm();
}

void Conntrack::remove(const Tuple& tuple) {
  const bool ipv4 = tuple.version == IpVersion::kIpv4;
  auto* flow = scratch_.get();
  nfct_set_attr_u8(flow, ATTR_L3PROTO, ipv4 ? AF_INET : AF_INET6);
  nfct_set_attr(flow, ipv4 ? ATTR_IPV4_SRC : ATTR_IPV6_SRC, tuple.source.data());
  nfct_set_attr(flow, ipv4 ? ATTR_IPV4_DST : ATTR_IPV6_DST, tuple.destination.data());
  nfct_set_attr_u8(flow, ATTR_L4PROTO, tuple.protocol);
  nfct_set_attr_u16(flow, ATTR_PORT_SRC, htons(tuple.source_port));
  nfct_set_attr_u16(flow, ATTR_PORT_DST, htons(tuple.destination_port));
  auto* message = removals_.begin(type_of(IPCTNL_MSG_CT_DELETE), 0, ipv4 ? AF_INET : AF_INET6);
  nfct_nlmsg_build(message, flow);
  end_removal();
}

void Conntrack::end_removal() {
  removals_.end();
  if (removals_.size() > kRemovalOctets) flush();
}

void Conntrack::flush() {
  if (removals_.size() == 0) return;
  // This comes after the commit of the rules: it can no longer fail a change.
  try {
    socket_.send(removals_);
    // The kernel has done it by now. It says which flows there were not: most rules have none.
    socket_.discard();
  } catch (const std::system_error& failure) {
    spdlog::error("nftables: flows of ended rules may continue: {}", failure.what());
  }
  removals_.clear();
}

void Conntrack::end_batch() {
  removals_left_ = kRemovalsPerBatch;
  flush();
  arm();
}

// --- Flows that have to be looked for ------------------------------------------------------------

void Conntrack::arm() {
  if (dump_.busy() || (pending_.empty() && !untranslated_)) return;
  if (armed_ && (!hurry_ || hurrying_)) return;
  armed_ = true;
  hurrying_ = hurry_;
  const auto pause = kSweepPause * sweep_took_;
  timer_.expires_after(hurry_ ? pause : std::max<std::chrono::nanoseconds>(kSweepInterval, pause));
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    armed_ = false;
    sweep();
  });
}

void Conntrack::sweep() {
  sweeping_.swap(pending_);
  sweeping_untranslated_ = std::exchange(untranslated_, false);
  hurry_ = false;
  local_ = local_addresses();
  sweep_began_ = options_.now();
  MessageBuffer request;
  request.begin(type_of(IPCTNL_MSG_CT_GET), NLM_F_DUMP, AF_UNSPEC);
  request.end();
  dump_.start(
      request,
      [this](const nlmsghdr* message) {
        read_flow(message, [this](const Flow& flow) {
          return ended(flow, true) || ended(flow, false) ||
                 (sweeping_untranslated_ && is_ours_untranslated(flow));
        });
      },
      [this](int) { end_sweep(); });
}

void Conntrack::end_sweep() {
  sweeping_.clear();
  flush();
  sweep_took_ = options_.now() - sweep_began_;
  arm();
}

void Conntrack::forget_translated_but_for(std::span<const RuleChange> rules) {
  BindingIndex bindings;
  for (const RuleChange& change : rules) {
    const RuleRecord& rule = change.after;
    if (rule.kind != rule::RuleKind::kEnable || !rule.outside) continue;
    const auto& outside = *rule.outside;
    const auto protocol = outside.port == 0 ? kProtocolAny : outside.protocol;
    bindings[{{outside.ip_version, outside.address}, protocol, outside.port}] = &rule;
  }
  const auto is_over = [&](const Flow& flow) {
    return is_ours_untranslated(flow) || (is_ours_translated(flow) && !is_bound(bindings, flow));
  };
  MessageBuffer request;
  request.begin(type_of(IPCTNL_MSG_CT_GET), NLM_F_DUMP, AF_UNSPEC);
  request.end();
  dump_.start(request, [&](const nlmsghdr* message) { read_flow(message, is_over); }, [](int) {});
  dump_.finish();
  flush();
}

bool Conntrack::is_bound(const BindingIndex& bindings, const Flow& flow) const {
  const auto& original = flow.original;
  const auto bound = [&](const std::array<std::byte, 16>& outside, std::uint16_t port,
                         bool begun_outside) {
    const IpAddress address{original.version, outside};
    for (const auto protocol : {original.protocol, kProtocolAny}) {
      const auto after = bindings.upper_bound({address, protocol, port});
      if (after == bindings.begin()) continue;
      const auto& [key, rule] = *std::prev(after);
      if (std::get<0>(key) != address || std::get<1>(key) != protocol) continue;
      if (belongs_to(flow, *rule, begun_outside)) return true;
    }
    return false;
  };
  return bound(original.destination, original.destination_port, true) ||
         bound(flow.reply_destination, flow.reply_destination_port, false);
}

void Conntrack::read_flow(const nlmsghdr* message,
                          const std::function<bool(const Flow&)>& is_over) {
  const std::unique_ptr<nf_conntrack, Free> read(nfct_new());
  if (!read || nfct_nlmsg_parse(message, read.get()) < 0) return;
  const auto* raw = read.get();
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
  flow.status = nfct_get_attr_u32(raw, ATTR_STATUS);
  if (!is_over(flow)) return;
  // The tuple as it was read: protocols without ports have other parts.
  auto* removal = removals_.begin(type_of(IPCTNL_MSG_CT_DELETE), 0,
                                  original.version == IpVersion::kIpv4 ? AF_INET : AF_INET6);
  nfct_nlmsg_build(removal, raw);
  end_removal();
}

bool Conntrack::is_ours_translated(const Flow& flow) const {
  const auto version = flow.original.version;
  const bool from_outside = (flow.status & IPS_DST_NAT) != 0 &&
                            (in_pool(options_.outside_pool, version, flow.original.destination) ||
                             in_pool(options_.inside_pool, version, flow.original.destination));
  // What passes without rules may be translated to the same addresses by the site.
  const bool to_outside = !options_.allow_outbound && (flow.status & IPS_SRC_NAT) != 0 &&
                          (in_pool(options_.outside_pool, version, flow.reply_destination) ||
                           in_pool(options_.inside_pool, version, flow.reply_destination));
  return from_outside || to_outside;
}

bool Conntrack::is_ours_untranslated(const Flow& flow) const {
  const auto& to = flow.original.destination;
  const auto port = flow.original.destination_port;
  const bool given_out = port == 0 || (port >= options_.first_port && port <= options_.last_port);
  return (flow.status & IPS_DST_NAT) == 0 && given_out &&
         (in_pool(options_.outside_pool, flow.original.version, to) ||
          in_pool(options_.inside_pool, flow.original.version, to));
}

Ends Conntrack::ends_of(const Flow& flow, bool begun_outside) {
  const auto& original = flow.original;
  Ends ends{original.version, original.protocol,      flow.reply_source,
            original.source,  flow.reply_source_port, original.source_port};
  if (!begun_outside) {
    std::swap(ends.internal, ends.external);
    std::swap(ends.internal_port, ends.external_port);
  }
  return ends;
}

bool Conntrack::belongs_to(const Flow& flow, const RuleRecord& rule, bool begun_outside) const {
  const auto& original = flow.original;
  const Ends ends = ends_of(flow, begun_outside);
  if (rule.internal.ip_version != ends.version) return false;
  if (rule.internal.protocol != kProtocolAny && rule.internal.protocol != ends.protocol)
    return false;
  if (!matches(rule.internal, ends.internal, ends.internal_port)) return false;
  if (!matches(rule.external, ends.external, ends.external_port)) return false;
  // A translated flow is that of the rule whose binding it uses, whatever else would let it pass.
  return begun_outside
             ? matches(*rule.outside, original.destination, original.destination_port)
             : matches(*rule.outside, flow.reply_destination, flow.reply_destination_port);
}

bool Conntrack::ended(const Flow& flow, bool begun_outside) const {
  const Ends ends = ends_of(flow, begun_outside);
  if (sweeping_.cover(ends)) {
    // The router's own flows pass without us.
    const IpAddress host{ends.version, ends.internal};
    return std::ranges::find(local_, host) == local_.end() && !elements_.allows(ends);
  }
  match::Translation translation{ends, flow.reply_destination, flow.reply_destination_port,
                                 begun_outside};
  if (begun_outside) {
    translation.outside = flow.original.destination;
    translation.outside_port = flow.original.destination_port;
  }
  Ends bound = ends;
  bound.internal = translation.outside;
  bound.internal_port = translation.outside_port;
  // Its ports may belong to a new rule by now.
  return sweeping_.cover_translated(bound) && !elements_.translates(translation);
}

}  // namespace simco::backend::nftables
