#include "middlebox/backend/nftables/counters/drop_counters.hpp"

#include <endian.h>
#include <netinet/in.h>
// The kernel's headers go after the C library's.
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>

#include <cerrno>
#include <system_error>

namespace simco::backend::nftables {
namespace {

constexpr std::array<const char*, kDropReasons> kReasonNames = {
    "no-rule", "disable-rule", "forged-source", "no-binding", "no-lease"};

/// Calls `act(inbound, reason)` for each counter.
template <typename Act>
void for_each_counter(Act&& act) {
  for (const bool inbound : {true, false}) {
    for (std::size_t i = 0; i < kDropReasons; ++i) act(inbound, static_cast<DropReason>(i));
  }
}

void put_counter(const Options& options, int type, std::uint16_t flags, bool inbound,
                 DropReason reason, MessageBuffer& batch) {
  auto* message = batch.begin_inet(
      type, flags,
      {{NFTA_OBJ_TABLE, options.table}, {NFTA_OBJ_NAME, drop_counter(options, inbound, reason)}});
  mnl_attr_put_u32(message, NFTA_OBJ_TYPE, htonl(NFT_OBJECT_COUNTER));
  if (type == NFT_MSG_NEWOBJ) {
    mnl_attr_nest_end(message, mnl_attr_nest_start(message, NFTA_OBJ_DATA));
  }
  batch.end();
}

std::uint64_t packets_in(const nlmsghdr* message) {
  std::uint64_t packets = 0;
  for_each_attribute(attributes_of(message), [&](std::uint16_t type, const nlattr* attribute) {
    if (type != NFTA_OBJ_DATA) return;
    for_each_attribute(attributes_of(attribute), [&](std::uint16_t part, const nlattr* value) {
      if (part == NFTA_COUNTER_PACKETS) packets = be64toh(mnl_attr_get_u64(value));
    });
  });
  return packets;
}

}  // namespace

std::string drop_counter(const Options& options, bool inbound, DropReason reason) {
  return name_in_kernel(options, std::string("dropped-") + (inbound ? "in-" : "out-") +
                                     kReasonNames[static_cast<std::size_t>(reason)]);
}

void add_drop_counters(const Options& options, MessageBuffer& batch) {
  for_each_counter([&](bool inbound, DropReason reason) {
    put_counter(options, NFT_MSG_NEWOBJ, NLM_F_CREATE, inbound, reason, batch);
  });
}

void remove_drop_counters(const Options& options, MessageBuffer& batch) {
  add_drop_counters(options, batch);  // removing a missing counter would fail the batch
  for_each_counter([&](bool inbound, DropReason reason) {
    put_counter(options, NFT_MSG_DELOBJ, 0, inbound, reason, batch);
  });
}

std::optional<DropCounts> read_drop_counters(const Options& options, NetlinkSocket& socket) {
  // By name: a dump would list the site's own counters in a shared table as well.
  MessageBuffer& ask = socket.question();
  for_each_counter([&](bool inbound, DropReason reason) {
    put_counter(options, NFT_MSG_GETOBJ, 0, inbound, reason, ask);
  });
  DropCounts counts{};
  std::size_t index = 0;
  const int error = socket.request(
      ask, [&](const nlmsghdr* message) { counts.at(index++) = packets_in(message); });
  if (error == ENOENT) return std::nullopt;
  if (error != 0) throw std::system_error(error, std::generic_category(), "nf_tables counters");
  return counts;
}

Figures drop_figures(const DropCounts& counts) {
  Figures result;
  for_each_counter([&](bool inbound, DropReason reason) {
    result.push_back({"simco_dropped_packets_total",
                      {{"direction", inbound ? "inbound" : "outbound"},
                       {"reason", kReasonNames[static_cast<std::size_t>(reason)]}},
                      counts[result.size()],
                      "Packets that the backend has dropped, by direction and reason."});
  });
  return result;
}

}  // namespace simco::backend::nftables
