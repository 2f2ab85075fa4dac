// Checks the options, begins and ends, and carries out batches: plan, commit, and plan again if
// the kernel refuses, needs another set first, or has had a commit of others in between.
#include "middlebox/backend/nftables/nftables_backend.hpp"

#include <net/if.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <system_error>

#include "simco/log/log.hpp"
#include "simco/packet/rule_match.hpp"

namespace simco::backend::nftables {
namespace {

using rule::RuleKind;

void require_interface(const std::string& option, const std::string& name) {
  if (name.empty()) throw std::runtime_error("--backend nftables needs " + option + " NAME");
  if (::if_nametoindex(name.c_str()) != 0) return;
  throw std::runtime_error(option + ": no interface '" + name + "' (ip link lists them)");
}

const Options& checked(const Options& options) {
  if (!forwards(options) && !options.guards.empty()) return options;
  require_interface("--internal-if", options.internal_if);
  require_interface("--external-if", options.external_if);
  return options;
}

[[noreturn]] void explain(const std::system_error& failure) {
  switch (failure.code().value()) {
    case EPERM:
    case EACCES:
      throw std::runtime_error(
          "--backend nftables: not permitted; run as root, or with the capability CAP_NET_ADMIN");
    case EPROTONOSUPPORT:
    case EAFNOSUPPORT:
    case EOPNOTSUPP:
    case EINVAL:
    case ENOENT:
      throw std::runtime_error(
          std::string("--backend nftables: this kernel has no nf_tables, or not all that is "
                      "needed: load the modules nf_tables, nft_ct and nft_nat, or use another "
                      "kernel (") +
          failure.what() + ")");
    case EMSGSIZE:
      throw std::runtime_error(
          "--backend nftables: --state has too many rules for one commit; use another "
          "--state to start without them");
    default: throw std::runtime_error(std::string("--backend nftables: ") + failure.what());
  }
}

/// Adds an element's counts for a rule to those of the rule.
void add_to(std::optional<rule::RuleTraffic>& sum, const match::Element& element,
            const CounterLedger::Share& share) {
  if (!sum) sum = {{}, std::nullopt, share.complete_since, share.read_at, {}};
  sum->count += share.count;
  sum->complete_since = std::max(sum->complete_since, share.complete_since);
  sum->read_at = std::min(sum->read_at, share.read_at);
  const auto& last = share.last_packet;
  if (last && (!sum->last_packet || sum->last_packet->until < last->until)) sum->last_packet = last;
  if (element.mask.internal_port_bits != 16) return;
  auto& ports = sum->ports;
  if (ports.empty() || ports.back().port != element.key.internal_port) {
    ports.push_back({element.key.internal_port, {}});
  }
  ports.back().count += share.count;
}

bool has(const match::Holders& holders, PolicyRuleId pid) {
  return std::ranges::find(holders, pid, &match::Holder::pid) != holders.end();
}

}  // namespace

// --- The start and the end -----------------------------------------------------------------------

NftablesBackend::NftablesBackend(boost::asio::io_context& io, const Options& options) try
    : options_(checked(options)),
      planner_(options_.counters ? match::PortPairs::kApart : match::PortPairs::kTogether),
      committer_(options_),
      table_(options_, committer_, planner_.elements()),
      conntrack_(io, options_, planner_.elements()),
      counter_reader_(io, options_, committer_.socket(), ledger_),
      reconciler_(io, options_, planner_, committer_, table_, ledger_, [this] {
        if (options_.counters) ledger_.restart(planner_.elements(), options_.now());
        dropped_before_ = dropped_.value_or(DropCounts());  // the new table counts from 0
        if (options_.nat) conntrack_.forget_untranslated();
        if (options_.leased) tell_kernel(false);
      }) {
} catch (const std::system_error& failure) {
  explain(failure);
}

std::vector<ChangeResult> NftablesBackend::begin(std::span<const RuleChange> rules) try {
  planner_.recover(rules, options_.now());
  table_.probe_kernel();
  table_.install([&](const packet::Packet& packet) {
    return std::ranges::any_of(rules, [&](const RuleChange& change) {
      const auto& rule = change.after;
      if (rule.kind != RuleKind::kEnable || rule.parameters.direction == Direction::kOutbound)
        return false;
      const auto agreement = packet::compare(rule.internal, rule.external, packet);
      return agreement && agreement->faults() == 0;
    });
  });
  begun_ = true;
  if (options_.nat) conntrack_.forget_translated_but_for(rules);
  reconciler_.watch();
  if (options_.counters) {
    ledger_.restart(planner_.elements(), options_.now());
    counter_reader_.start();
  }
  const auto results = planner_.results();
  return {results.begin(), results.end()};
} catch (const std::system_error& failure) {
  explain(failure);
}

void NftablesBackend::clear() try { table_.remove(); } catch (const std::system_error& failure) {
  explain(failure);
}

void NftablesBackend::end() {
  if (!begun_ || !reconciler_.enforces()) return;
  if (options_.keep_on_stop) {
    return log::info(
        "nftables: table inet {} stays in force: {}, all other traffic is blocked; --remove-rules "
        "removes it",
        options_.table, options_.leased ? "no rule lets packets pass" : "rules until they expire");
  }
  try {
    table_.remove();
  } catch (const std::exception& failure) {
    log::error("nftables: table {} could not be removed: {}", options_.table, failure.what());
  }
}

bool NftablesBackend::alive() {
  if (lease_failed_) tell_kernel(true);
  try {
    committer_.socket().generation();
    return true;
  } catch (const std::system_error& failure) {
    log::error("nftables: the kernel does not answer: {}", failure.what());
    return false;
  }
}

/// While the kernel cannot be asked, its last answer counts.
Figures NftablesBackend::figures() {
  try {
    if (auto counted = read_drop_counters(options_, committer_.socket())) {
      std::ranges::transform(*counted, dropped_before_, counted->begin(), std::plus());
      dropped_ = counted;
    }
  } catch (const std::system_error& failure) {
    log::error("nftables: {}", failure.what());
  }
  return dropped_ ? drop_figures(*dropped_) : Figures();
}

// --- The lease -----------------------------------------------------------------------------------

void NftablesBackend::lease(Instant until) {
  lease_ = until;
  const bool leased = until != Instant::max();
  const bool other = std::exchange(options_.leased, leased) != leased;
  if (begun_) tell_kernel(other || lease_failed_);
}

// What fails is tried again with the next batch or renewal. Until then a box that should open stays
// closed, and one that has lost its rules, and stops, may stay open.
void NftablesBackend::tell_kernel(bool table) {
  lease_failed_ = true;
  try {
    if (!reconciler_.enforces() || (table && !reconciler_.change_lease())) return;
    if (!options_.leased || write_lease()) lease_failed_ = false;
  } catch (const std::system_error& failure) {
    log::error("nftables: the lease: {}", failure.what());
  }
}

bool NftablesBackend::write_lease() {
  for (int attempt = 0; attempt < kAttemptsMax && reconciler_.enforces(); ++attempt) {
    const Instant began = options_.now();
    const auto left = floor<std::chrono::milliseconds>(lease_ - began);
    if (table_.set_lease(left) != Outcome::kDone) {
      reconciler_.reconcile();
    } else if (left <= kKernelTick || options_.now() - began <= kKernelTick) {
      return true;
    }
    // The kernel counts from when it has got the message, which was late.
  }
  table_.set_lease({});
  log::error("nftables: the lease of table {} could not be renewed", options_.table);
  return false;
}

// --- A batch -------------------------------------------------------------------------------------

void NftablesBackend::apply(std::span<const RuleChange> batch, Client& client) {
  if (lease_failed_) tell_kernel(true);
  const auto count = static_cast<std::uint32_t>(batch.size());
  planner_.begin_batch(batch);
  for (std::uint32_t begin = 0; begin < count;) {
    try {
      begin = commit_some(batch, begin);
    } catch (const std::system_error& failure) {
      log::error("nftables: refused {} changes: {}", count - begin, failure.what());
      planner_.undo();
      reconciler_.suspect();  // whether the kernel has done any of it is not known
      for (; begin < count; ++begin) planner_.refuse(begin, ChangeResult::kNoResources);
    }
  }
  conntrack_.end_batch();
  client.on_applied(planner_.results());
}

std::uint32_t NftablesBackend::commit_some(std::span<const RuleChange> batch, std::uint32_t begin) {
  auto end = static_cast<std::uint32_t>(batch.size());
  for (RetryRule retry;;) {
    const Instant now = options_.now();
    const auto planned = planner_.plan(begin, end, now, reconciler_.enforces());
    if (planner_.missing()) {
      provide_set(planned, now);
      continue;
    }
    reconciler_.note(planner_.operations());
    const bool built_on_any = committer_.builds_on_any();
    // Without a table there is nothing to do in the kernel.
    const auto outcome =
        reconciler_.enforces() ? committer_.carry_out(planner_.operations(), now) : Outcome::kDone;
    if (outcome == Outcome::kDone) {
      end_flows(batch, begin, planned);
      if (options_.counters) account(now);
      planner_.accept();
      return planned;
    }
    planner_.undo();
    const auto step = retry.after(outcome, built_on_any);
    if (step == RetryRule::Step::kAttributeErrors) {
      if (refuse_changes_at_fault()) continue;
      if (planned - begin == 1) planner_.refuse(begin, result_for(committer_.error()));
      end = begin + 1;  // one by one
    } else {
      reconciler_.reconcile();
      if (step == RetryRule::Step::kBuildOnAny) committer_.build_on_any();
    }
  }
}

void NftablesBackend::provide_set(std::uint32_t change, Instant now) {
  const MissingSet missing = *planner_.missing();
  planner_.undo();
  if (reconciler_.make_set(missing.mask)) {
    planner_.add_set(missing, now);
  } else {
    planner_.refuse(change,
                    reconciler_.enforces() ? ChangeResult::kNoResources : ChangeResult::kRefused);
  }
}

bool NftablesBackend::refuse_changes_at_fault() {
  const auto attribution = committer_.attribute_errors();
  for (const auto change : attribution.uncertain) planner_.mark_uncertain(change);
  for (const auto& [change, error] : attribution.refused) {
    log::error("nftables: the kernel refused a change: {}", std::strerror(error));
    planner_.refuse(change, result_for(error));
  }
  if (attribution.foreign_removal && !committer_.claimed()) {
    log::warn("nftables: another program has removed elements from table {}", options_.table);
    reconciler_.suspect();
  }
  return attribution.any();
}

void NftablesBackend::end_flows(std::span<const RuleChange> batch, std::uint32_t begin,
                                std::uint32_t end) {
  // A translation that was there before has its flows already.
  std::vector<bool> newly_translated(options_.nat ? end - begin : 0);
  for (const auto& operation : planner_.operations()) {
    if (!operation.store->mask().translates() || !operation.before.empty()) continue;
    newly_translated[operation.change - begin] = true;
  }
  for (auto index = begin; index < end; ++index) {
    const RuleChange& change = batch[index];
    const bool done = planner_.results()[index] == ChangeResult::kDone;
    if (!done || change.rule().kind != RuleKind::kEnable) continue;
    if (change.kind == RuleChange::Kind::kRemove) {
      conntrack_.forget(change.rule());
    } else if (options_.nat && newly_translated[index - begin]) {
      conntrack_.make_way(change.rule());
    }
  }
}

// --- Counters ------------------------------------------------------------------------------------

void NftablesBackend::account(Instant now) {
  std::vector<ElementId> shared;
  std::vector<PolicyRuleId> newcomers;
  for (const auto& operation : planner_.operations()) {
    const auto& [store, key, target, before, after, change, uncertain] = operation;
    if (store->mask().translates()) continue;
    const ElementId id{store, key};
    if (after.empty()) {
      ledger_.remove(id);
    } else if (before.empty()) {
      ledger_.add(id, now);
    } else if (last_end(before) != last_end(after)) {
      const auto counted = committer_.counted(operation);
      // An element without counts may have been put there for its removal alone.
      const bool known = counted && (counted->packets != 0 || !uncertain);
      known ? ledger_.renew(id, *counted, now) : ledger_.lose(id, now);
    }
    if (before.empty() || after.empty()) continue;
    for (const auto& holder : before) {
      if (!has(after, holder.pid)) ledger_.leave(id, holder.pid);
    }
    if (has(before, after.front().pid)) continue;
    shared.push_back(id);
    newcomers.push_back(after.front().pid);
  }
  if (shared.empty()) return;
  // The kernel's values are now those after the whole commit.
  read_counters(shared);
  for (std::size_t i = 0; i < shared.size(); ++i) {
    const auto& [store, key] = shared[i];
    if (store->holds(key, newcomers[i])) ledger_.join(shared[i], newcomers[i], options_.now());
  }
}

bool NftablesBackend::read_counters(std::span<const ElementId> elements) {
  try {
    counter_reader_.read(elements);
    return true;
  } catch (const std::system_error& failure) {
    log::error("nftables: counters cannot be read: {}", failure.what());
    return false;
  }
}

std::vector<std::optional<rule::RuleTraffic>> NftablesBackend::traffic(
    std::span<const rule::RuleRecord> rules) {
  std::vector<std::optional<rule::RuleTraffic>> result(rules.size());
  if (!options_.counters) return result;
  std::vector<ElementId> elements;
  for (const auto& rule : rules) {
    if (elements.size() >= kReadingsPerQuestion) break;
    planner_.for_each_element(rule, [&](const ElementStore& store, const match::Element& element) {
      elements.push_back({&store, element.key});
    });
  }
  if (!read_counters(elements)) return result;
  for (std::size_t i = 0; i < rules.size(); ++i) result[i] = traffic_of(rules[i]);
  return result;
}

std::optional<rule::RuleTraffic> NftablesBackend::traffic_of(const rule::RuleRecord& rule) {
  std::optional<rule::RuleTraffic> sum;
  planner_.for_each_element(rule, [&](const ElementStore& store, const match::Element& element) {
    const auto share = ledger_.share_of({&store, element.key}, rule.pid);
    if (share) add_to(sum, element, *share);
  });
  if (sum && sum->ports.size() > kPortsListedMax) sum->ports.clear();
  return sum;
}

}  // namespace simco::backend::nftables
