// Deletes the flows of exact rules by name at once. The flows of all others are looked for in a
// dump of the kernel's table, which a timer starts.
#include "middlebox/backend/nftables/flows/conntrack.hpp"

#include <ifaddrs.h>
#include <netinet/in.h>

#include <cstring>

#include "middlebox/backend/match/limits.hpp"

namespace simco::backend::nftables {
namespace {

/// A single host and known ports: a rule between two such ends has flows that can be named.
bool is_exact(const AddressTuple& tuple) {
  return has_ports(tuple) && tuple.prefix_length >= address_bits(tuple.ip_version) &&
         tuple.port_range <= match::kPortsPerRuleMax;
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

}  // namespace

Conntrack::Conntrack(boost::asio::io_context& io, const Options& options,
                     const match::TupleSpace& elements)
    : options_(options), elements_(elements), dump_(io), timer_(io) {}

void Conntrack::forget(const RuleRecord& ended) {
  const bool exact = is_exact(ended.internal) && is_exact(ended.external);
  if (!exact || !remove_exact(ended, false)) pending_.add(ended);
}

// A flow that began outside goes from A3 to the internal host's tuple there, a flow that began
// inside from A0 to the external host's tuple there.
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
      remover_.remove({version, protocol, rule.external.address, outside.address,
                       nth(rule.external), nth(outside)});
    }
    if (direction != Direction::kInbound) {
      remover_.remove({version, protocol, rule.internal.address, inside.address, nth(rule.internal),
                       nth(inside)});
    }
  }
  return true;
}

// A flow is translated by its first packet only: a flow that began when its port was not bound, or
// bound otherwise, would never get the rule's translation.
void Conntrack::make_way(const RuleRecord& added) {
  if (!added.outside) return;
  if (is_exact(added.internal) && is_exact(added.external) && remove_exact(added, true)) return;
  // The sooner the flows of rules that had its ports are gone, the better.
  hurry_ = !pending_.empty();
  // Our own table lets no such flow begin, except to the router itself at an address of the pool,
  // if it is of another protocol, or not to the ports that are given out.
  const bool kept_out = options_.own_table && !options_.allow_outbound && has_ports(*added.outside);
  if (!kept_out) untranslated_ = hurry_ = true;
}

void Conntrack::forget_untranslated() {
  untranslated_ = true;
  arm();
}

void Conntrack::end_batch() {
  removals_left_ = kRemovalsPerBatch;
  remover_.flush();
  arm();
}

// --- Flows that have to be looked for ------------------------------------------------------------

void Conntrack::arm() {
  if (dump_.busy() || (pending_.empty() && !untranslated_)) return;
  timer_.arm(hurry_, [this] { sweep(); });
}

void Conntrack::sweep() {
  sweeping_.swap(pending_);
  sweeping_untranslated_ = std::exchange(untranslated_, false);
  hurry_ = false;
  local_ = local_addresses();
  timer_.begin(options_.now());
  dump_.start(
      FlowRemover::dump_request(),
      [this](const nlmsghdr* message) {
        remover_.remove_if(message, [this](const Flow& flow) {
          return ended(flow, true) || ended(flow, false) ||
                 (sweeping_untranslated_ && lacks_translation(flow));
        });
      },
      [this](int) { end_sweep(); });
}

void Conntrack::end_sweep() {
  sweeping_.clear();
  remover_.flush();
  timer_.end(options_.now());
  arm();
}

void Conntrack::forget_translated_but_for(std::span<const RuleChange> rules) {
  const BindingIndex bindings(rules);
  const auto is_over = [&](const Flow& flow) {
    return lacks_translation(flow) || (is_ours_translated(options_, flow) && !bindings.has(flow));
  };
  dump_.start(
      FlowRemover::dump_request(),
      [&](const nlmsghdr* message) { remover_.remove_if(message, is_over); }, [](int) {});
  dump_.finish();
  remover_.flush();
}

bool Conntrack::lacks_translation(const Flow& flow) const {
  if (flow.destination_translated) return false;
  if (is_ours_untranslated(options_, flow)) return true;
  const auto& [version, protocol, source, destination, source_port, port] = flow.original;
  return elements_.translates_destination(
             {version, protocol, destination, source, port, source_port}, true) ||
         elements_.translates_destination(
             {version, protocol, source, destination, source_port, port}, false);
}

bool Conntrack::ended(const Flow& flow, bool begun_outside) const {
  const Ends ends = ends_of(flow, begun_outside);
  if (sweeping_.cover(ends)) {
    // The router's own flows pass without us.
    const IpAddress host{ends.version, ends.internal};
    return std::ranges::find(local_, host) == local_.end() && !elements_.allows(ends);
  }
  const auto translation = translation_of(flow, begun_outside);
  Ends bound = ends;
  bound.internal = translation.outside;
  bound.internal_port = translation.outside_port;
  // Its ports may belong to a new rule by now.
  return sweeping_.cover_translated(bound) && !elements_.translates(translation);
}

}  // namespace simco::backend::nftables
