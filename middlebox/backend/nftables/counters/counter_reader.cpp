#include "middlebox/backend/nftables/counters/counter_reader.hpp"

#include <netinet/in.h>
// The kernel's headers go after the C library's.
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>

#include <algorithm>
#include <system_error>
#include <vector>

#include "middlebox/backend/nftables/elements/element_writer.hpp"
#include "middlebox/backend/nftables/limits.hpp"
#include "simco/log/log.hpp"

namespace simco::backend::nftables {

void CounterReader::start() {
  timer_.expires_after(kReadingPause);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    try {
      read_next();
    } catch (const std::system_error& failure) {
      log::error("nftables: counters cannot be read: {}", failure.what());
    }
    start();
  });
}

void CounterReader::read_next() {
  constexpr auto kPauses = static_cast<std::size_t>(kReadingRound / kReadingPause);
  const auto wanted = std::min((ledger_.size() + kPauses - 1) / kPauses, kReadingsPerPause);
  std::vector<ElementId> elements;
  for (std::size_t i = 0; i < wanted; ++i) {
    if (next_ >= ledger_.size()) next_ = 0;
    elements.push_back(ledger_[next_++].id);
  }
  read(elements);
}

void CounterReader::read(std::span<const ElementId> elements) {
  while (!elements.empty()) {
    const auto some = elements.first(std::min(elements.size(), kReadingsPerRequest));
    read_some(some);
    elements = elements.subspan(some.size());
  }
}

// An element that the kernel does not have, because its time is over or others have removed it, is
// answered with an error of its own, and not with a count.
void CounterReader::read_some(std::span<const ElementId> elements) {
  ask_.clear();
  std::uint32_t first = 0;
  for (const auto& [store, key] : elements) {
    auto* message =
        ask_.begin_inet(NFT_MSG_GETSETELEM, 0,
                        {{NFTA_SET_ELEM_LIST_TABLE, options_.table},
                         {NFTA_SET_ELEM_LIST_SET, set_in_kernel(options_, store->mask())}});
    auto* list = mnl_attr_nest_start(message, NFTA_SET_ELEM_LIST_ELEMENTS);
    auto* element = mnl_attr_nest_start(message, NFTA_LIST_ELEM);
    put_key(message, store->mask(), key);
    mnl_attr_nest_end(message, element);
    mnl_attr_nest_end(message, list);
    const auto sequence = ask_.end();
    if (first == 0) first = sequence;
  }
  const Instant now = options_.now();
  socket_.request(ask_, [&](const nlmsghdr* message) {
    const auto index = message->nlmsg_seq - first;
    if (index >= elements.size()) return;
    for (const auto& element : elements_in(message)) {
      ledger_.read(elements[index], element.counter, now);
    }
  });
}

}  // namespace simco::backend::nftables
