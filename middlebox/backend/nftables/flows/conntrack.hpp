// Ends the flows of rules that have ended: the entries that they made in the kernel's connection
// tracking. The sets that packets are looked up in no longer let them pass, but a translated
// flow would keep its translation.
#pragma once

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "middlebox/backend/match/tuple_space.hpp"
#include "middlebox/backend/nftables/flows/ended_rules.hpp"
#include "middlebox/backend/nftables/flows/flow_remover.hpp"
#include "middlebox/backend/nftables/limits.hpp"
#include "middlebox/backend/nftables/netlink.hpp"
#include "middlebox/backend/nftables/options.hpp"
#include "middlebox/rule/rule_change.hpp"
#include "simco/wire/instant.hpp"

namespace simco::backend::nftables {

/// When the next sweep of the connection tracking table begins: not so often that a long table
/// takes all time.
class SweepTimer {
 public:
  explicit SweepTimer(boost::asio::io_context& io) : timer_(io) {}

  /// Calls `sweep` after kSweepInterval, or as soon as possible if `soon`; in any case after a
  /// pause that is long beside the last sweep.
  template <class Sweep>
  void arm(bool soon, Sweep sweep) {
    if (armed_ && (!soon || soon_)) return;
    armed_ = true;
    soon_ = soon;
    const auto pause = kSweepPause * took_;
    timer_.expires_after(soon ? pause : std::max<std::chrono::nanoseconds>(kSweepInterval, pause));
    timer_.async_wait([this, sweep = std::move(sweep)](const boost::system::error_code& error) {
      if (error) return;
      armed_ = false;
      sweep();
    });
  }
  void begin(Instant now) { began_ = now; }
  void end(Instant now) { took_ = now - began_; }

 private:
  boost::asio::steady_timer timer_;
  bool armed_ = false;
  bool soon_ = false;  ///< armed for as soon as possible
  Instant began_{};
  std::chrono::nanoseconds took_{};
};

class Conntrack {
 public:
  /// `elements`: of the rules that are in force.
  Conntrack(boost::asio::io_context& io, const Options& options, const match::TupleSpace& elements);

  /// Deletes the flows of an enable rule that has ended: before end_batch() returns those that are
  /// known by their addresses and ports, unless there are very many; the others, and those of a
  /// rule with wildcards, within kSweepInterval and the time that it takes to read the table, piece
  /// by piece. Flows that another rule lets pass stay: a TCP connection would not find its
  /// direction again.
  void forget(const RuleRecord& ended);
  /// An enable rule has been added: deletes older flows that would prevent its translation.
  void make_way(const RuleRecord& added);
  /// The changes of a batch are in: carries out the deletions for them.
  void end_batch();
  /// Deletes all translated flows of the pools except those that `rules` would let
  /// pass with the same translation; and flows to the pools that are not translated, because they
  /// began while no middlebox ran: they would never be. At the start: waits for the end.
  void forget_translated_but_for(std::span<const RuleChange> rules);
  /// Deletes flows to the pools that are not translated, piece by piece.
  void forget_untranslated();

 private:
  /// Deletes the flows that have the ends of `rule`, which is exact and has ended or been added;
  /// false if that is too many for now.
  bool remove_exact(const RuleRecord& rule, bool added);
  /// Begins to look for the flows of the pending rules.
  void sweep();
  void end_sweep();
  void arm();
  /// Returns whether the flow is not translated although it goes to a pool, or to an endpoint that
  /// a rule translates now.
  bool lacks_translation(const Flow& flow) const;
  /// Returns whether the flow, begun on that side, belongs to a rule that is swept and to no other.
  bool ended(const Flow& flow, bool begun_outside) const;

  const Options& options_;
  const match::TupleSpace& elements_;
  FlowRemover remover_;
  std::size_t removals_left_ = kRemovalsPerBatch;  ///< of this batch
  EndedRules pending_;                             ///< rules whose flows must be looked for
  EndedRules sweeping_;                            ///< those that the sweep under way looks for
  bool untranslated_ = false;  ///< flows to the pools that are not translated, too
  bool hurry_ = false;         ///< a new rule waits for the flows to go
  bool sweeping_untranslated_ = false;
  std::vector<IpAddress> local_;  ///< the router's own addresses, as of this sweep
  Dump dump_;
  SweepTimer timer_;
};

}  // namespace simco::backend::nftables
