#include "middlebox/backend/nftables/elements/inspection.hpp"

#include <netinet/in.h>
// The kernel's headers go after the C library's.
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include <utility>

#include "middlebox/backend/nftables/elements/element_reader.hpp"
#include "simco/wire/assert.hpp"

namespace simco::backend::nftables {
void Inspection::start(std::vector<Mask> masks, Report report, std::function<void()> done) {
  SIMCO_ASSERT(!busy_);
  busy_ = true;
  left_ = std::move(masks);
  report_ = std::move(report);
  done_ = std::move(done);
  next();
}

void Inspection::next() {
  if (left_.empty()) {
    busy_ = false;
    return std::exchange(done_, nullptr)();
  }
  keys_.clear();
  MessageBuffer request;
  auto* message = request.begin_inet(NFT_MSG_GETSETELEM, NLM_F_DUMP);
  mnl_attr_put_strz(message, NFTA_SET_ELEM_LIST_TABLE, options_.table.c_str());
  mnl_attr_put_strz(message, NFTA_SET_ELEM_LIST_SET, set_in_kernel(options_, left_.back()).c_str());
  request.end();
  dump_.start(
      request, [this](const nlmsghdr* part) { read(part); },
      [this](int error) {
        const Mask mask = left_.back();
        left_.pop_back();
        if (error == 0) report_(mask, std::exchange(keys_, {}));
        next();
      });
}

void Inspection::read(const nlmsghdr* message) {
  for (auto& element : elements_in(message)) keys_.insert(std::move(element.key));
}

}  // namespace simco::backend::nftables
