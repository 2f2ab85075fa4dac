// Enforces rules with the kernel's nf_tables: sets of elements that live as long as their rules,
// and a few rules that look packets up in them.
//
// A change is answered when the kernel has acknowledged it. Elements carry timeouts, so that the
// rules of a killed middlebox end with their lifetimes.
//
// ElementPlanner decides which elements a batch adds and removes, Committer has the kernel do that,
// and Reconciler restores the table when others change it. This class joins them.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "middlebox/backend/backend.hpp"
#include "middlebox/backend/nftables/committer.hpp"
#include "middlebox/backend/nftables/counters/counter_ledger.hpp"
#include "middlebox/backend/nftables/counters/counter_reader.hpp"
#include "middlebox/backend/nftables/counters/drop_counters.hpp"
#include "middlebox/backend/nftables/elements/element_planner.hpp"
#include "middlebox/backend/nftables/flows/conntrack.hpp"
#include "middlebox/backend/nftables/options.hpp"
#include "middlebox/backend/nftables/reconciler.hpp"
#include "middlebox/backend/nftables/table/table.hpp"

namespace simco::backend::nftables {

/// Used by the thread that runs `io`, which must outlive it.
class NftablesBackend final : public Backend {
 public:
  /// Makes sure that the kernel can be talked to, that the interfaces exist, and that no other
  /// middlebox has the table. Otherwise throws std::runtime_error with a sentence that names the
  /// remedy.
  NftablesBackend(boost::asio::io_context& io, const Options& options);
  NftablesBackend(const NftablesBackend&) = delete;
  NftablesBackend& operator=(const NftablesBackend&) = delete;

  std::string_view name() const override { return "nftables"; }
  Capabilities capabilities() const override { return full_packet_filter(); }
  bool alive() override;
  bool enforces() override { return reconciler_.enforces(); }
  void lease(Instant until) override;
  std::vector<ChangeResult> begin(std::span<const RuleChange> rules) override;
  void apply(std::span<const RuleChange> batch, Client& client) override;
  void clear() override;
  Figures figures() override;
  bool counts() const override { return options_.counters; }
  std::vector<std::optional<rule::RuleTraffic>> traffic(
      std::span<const rule::RuleRecord> rules) override;
  /// Removes everything that it made from the kernel, unless told to keep it.
  void end() override;

 private:
  /// Tells the kernel of the lease; `table`: whether there must be one, too.
  void tell_kernel(bool table);
  /// Returns false, after a line in the log, if the kernel does not take it.
  bool write_lease();
  /// Carries out changes from `begin` on. Returns the first that was not decided.
  std::uint32_t commit_some(std::span<const RuleChange> batch, std::uint32_t begin);
  /// The commit in [begin, end) needs a set: makes it, or refuses the change.
  void provide_set(std::uint32_t change, Instant now);
  /// Refuses the changes that were at fault. Returns false if that cannot be told.
  bool refuse_changes_at_fault();
  /// Ends the flows of rules that the open commit, which has been carried out, has ended.
  void end_flows(std::span<const RuleChange> batch, std::uint32_t begin, std::uint32_t end);

  /// The open commit has been carried out: takes the counters of its elements into the ledger.
  void account(Instant now);
  /// Into the ledger. Returns false, after a line in the log, if the kernel cannot be asked.
  bool read_counters(std::span<const ElementId> elements);
  std::optional<rule::RuleTraffic> traffic_of(const rule::RuleRecord& rule);

  Options options_;
  ElementPlanner planner_;
  Committer committer_;
  Table table_;
  Conntrack conntrack_;
  CounterLedger ledger_;
  CounterReader counter_reader_;
  Reconciler reconciler_;
  bool begun_ = false;
  Instant lease_{};                    ///< if options_.leased
  bool lease_failed_ = false;          ///< the kernel may not know of it
  std::optional<DropCounts> dropped_;  ///< when we last asked; nullopt: never yet
  DropCounts dropped_before_{};        ///< by then, by tables that others have removed
};

}  // namespace simco::backend::nftables
