// In this order: watching the table as a whole, its sets, and the elements in them.
#include "middlebox/backend/nftables/reconciler.hpp"

#include <netinet/in.h>
// The kernel's headers go after the C library's.
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include <cstring>
#include <system_error>
#include <utility>

#include "middlebox/backend/nftables/limits.hpp"
#include "simco/log/log.hpp"
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
  request.begin_inet(NFT_MSG_GETSETELEM, NLM_F_DUMP,
                     {{NFTA_SET_ELEM_LIST_TABLE, options_.table},
                      {NFTA_SET_ELEM_LIST_SET, set_in_kernel(options_, left_.back())}});
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

Reconciler::Reconciler(boost::asio::io_context& io, const Options& options, ElementPlanner& planner,
                       Committer& committer, Table& table, CounterLedger& ledger,
                       std::function<void()> reinstalled)
    : options_(options),
      planner_(planner),
      committer_(committer),
      table_(table),
      ledger_(ledger),
      reinstalled_(std::move(reinstalled)),
      inspection_(io, options),
      timer_(io) {}

// --- The table -----------------------------------------------------------------------------------

void Reconciler::watch() {
  timer_.expires_after(kWatchInterval);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    try {
      look_after_table();
      if (inspect_again_) inspect();
    } catch (const std::exception& failure) {
      log::error("nftables: {}", failure.what());
    }
    watch();
  });
}

void Reconciler::look_after_table() {
  table_.drain_lock();
  const bool untouched = table_.untouched();
  if (enforces_ && untouched)
    remove_idle_sets();
  else
    reconcile();
}

void Reconciler::reconcile() {
  if (!committer_.claimed()) committer_.build_on(committer_.socket().generation());
  const auto found = table_.look();
  inspect_again_ = true;
  if (enforces_ && table_.is_ours(found)) return;
  if (enforces_) {
    log::warn("nftables: another program has {} table inet {}",
              found.exists ? "changed" : "removed", options_.table);
  }
  try {
    table_.install();
    log::warn("nftables: table inet {} is restored", options_.table);
    enforces_ = true;
    inspect_again_ = false;
    reinstalled_();
  } catch (const std::exception& failure) {
    if (enforces_) log::error("nftables: no rule can be enforced: {}", failure.what());
    enforces_ = false;
  }
}

// --- Sets ----------------------------------------------------------------------------------------

bool Reconciler::make(const std::string& what, const std::function<Outcome()>& add) {
  for (int attempt = 0; attempt < kAttemptsMax && enforces_; ++attempt) {
    const auto outcome = add();
    if (outcome == Outcome::kDone) {
      table_.remember();
      return true;
    }
    const bool table_may_be_gone = committer_.builds_on_any() && attempt < kStaleMax;
    if (outcome == Outcome::kFailed && !table_may_be_gone) {
      log::error("nftables: cannot create {}: {}", what, std::strerror(committer_.error()));
      return false;
    }
    reconcile();
  }
  return false;
}

void Reconciler::remove_idle_sets() {
  const auto idle = planner_.idle_sets(options_.now() - options_.set_idle);
  if (idle.empty() || inspection_.busy()) return;
  if (table_.remove_sets(idle) != Outcome::kDone) return;  // another time
  for (const auto& mask : idle) planner_.remove_set(mask);
  table_.remember();
}

// --- Elements ------------------------------------------------------------------------------------

void Reconciler::note(std::span<const Operation> operations) {
  if (!inspection_.busy()) return;
  for (const auto& operation : operations) {
    touched_[operation.store->mask()].insert(operation.key);
  }
}

void Reconciler::inspect() {
  const Instant began = options_.now();
  if (inspection_.busy() || began < inspect_not_before_) return;
  inspect_again_ = false;
  touched_.clear();
  inspection_.start(
      planner_.elements().masks(),
      [this](const Mask& mask, SetKeys in_kernel) {
        try {
          repair(mask, std::move(in_kernel));
        } catch (const std::system_error& failure) {
          log::error("nftables: {}", failure.what());
          inspect_again_ = true;
        }
      },
      [this, began] {
        const Instant done = options_.now();
        inspect_not_before_ = done + kInspectionShare * (done - began);
      });
}

void Reconciler::repair(const Mask& mask, SetKeys in_kernel) {
  const auto& stores = planner_.elements().stores();
  const auto found = stores.find(mask);
  if (found == stores.end()) return;
  const Instant now = options_.now();
  const auto drift = compare(*found->second, std::move(in_kernel), touched_[mask], now);
  if (!drift.missing.empty()) {
    log::warn("nftables: restored {} elements that another program had removed from set {}",
              drift.missing.size(), set_in_kernel(options_, mask));
    committer_.begin();
    committer_.write(drift.missing, now);
    if (committer_.commit() != Outcome::kDone) inspect_again_ = true;
    for (const auto& operation : drift.missing) {
      ledger_.lose({operation.store, operation.key}, now);
    }
  }
  if (!drift.foreign.empty()) {
    log::warn("nftables: removed {} elements that no rule asks for from set {}",
              drift.foreign.size(), set_in_kernel(options_, mask));
  }
  for (const auto& [key, end] : drift.foreign) {
    committer_.begin();
    committer_.write_removal(mask, key, end);
    if (committer_.commit() == Outcome::kStale) inspect_again_ = true;
  }
}

}  // namespace simco::backend::nftables
