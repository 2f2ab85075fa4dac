// Ends the flows of rules that have ended: the entries that they made in the kernel's connection
// tracking. The sets that packets are looked up in no longer let them pass, but a translated
// flow would keep its translation.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "middlebox/backend/match/tuple_space.hpp"
#include "middlebox/backend/nftables/dump.hpp"
#include "middlebox/backend/nftables/ended_rules.hpp"
#include "middlebox/backend/nftables/netlink.hpp"
#include "middlebox/backend/nftables/options.hpp"
#include "middlebox/rule/rule_change.hpp"
#include "simco/wire/instant.hpp"

struct nf_conntrack;

namespace simco::backend::nftables {

using match::Ends;
using rule::RuleChange;
using rule::RuleRecord;

class Conntrack {
 public:
  /// `elements`: of the rules that are in force.
  Conntrack(boost::asio::io_context& io, const Options& options, const match::TupleSpace& elements);
  ~Conntrack();

  /// Deletes the flows of an enable rule that has ended: before end_batch() returns those that are
  /// known by their addresses and ports, unless there are very many; the others, and those of a
  /// rule with wildcards, within kSweepInterval and the time that it takes to read the table, piece
  /// by piece. Flows that another rule lets pass stay: a TCP connection would not find its
  /// direction again.
  void forget(const RuleRecord& ended);
  /// An enable rule has been added: deletes what flows of other times would stand in its way.
  void make_way(const RuleRecord& added);
  /// The changes of a batch are in: carries out what they asked for.
  void end_batch();
  /// Deletes all translated flows of the pools except those that `rules` would let
  /// pass with the same translation; and flows to the pools that are not translated, because they
  /// began while no middlebox ran: they would never be. At the start: waits for the end.
  void forget_translated_but_for(std::span<const RuleChange> rules);
  /// Deletes flows to the pools that are not translated, piece by piece.
  void forget_untranslated();

 private:
  /// The original direction of a flow, as the kernel tracks it.
  struct Tuple {
    IpVersion version = IpVersion::kIpv4;
    std::uint8_t protocol = 0;
    std::array<std::byte, 16> source{};
    std::array<std::byte, 16> destination{};
    std::uint16_t source_port = 0;
    std::uint16_t destination_port = 0;
  };
  /// A flow read from the kernel, with both its ends as they are on their own sides.
  struct Flow {
    Tuple original;
    std::array<std::byte, 16> reply_source{};
    std::uint16_t reply_source_port = 0;
    std::array<std::byte, 16> reply_destination{};
    std::uint16_t reply_destination_port = 0;
    std::uint32_t status = 0;
  };

  /// Rules by protocol and the first outside port; protocol 0 for a whole address.
  using BindingKey = std::tuple<IpAddress, std::uint8_t, std::uint16_t>;
  using BindingIndex = std::map<BindingKey, const RuleRecord*>;

  /// Deletes the flows that have the ends of `rule`, which is exact and has ended or been added;
  /// false if that is too many for now.
  bool remove_exact(const RuleRecord& rule, bool added);
  void remove(const Tuple& tuple);
  bool belongs_to(const Flow& flow, const RuleRecord& rule, bool begun_outside) const;
  /// The message in removals_ is complete.
  void end_removal();
  void flush();
  /// Begins to look for the flows of the pending rules.
  void sweep();
  void end_sweep();
  void arm();
  /// Deletes the flow in `message` if `is_over(flow)`.
  void read_flow(const nlmsghdr* message, const std::function<bool(const Flow&)>& is_over);
  bool is_ours_translated(const Flow& flow) const;
  bool is_ours_untranslated(const Flow& flow) const;
  /// Is the flow that of a rule, by the binding that it uses outside?
  bool is_bound(const BindingIndex& bindings, const Flow& flow) const;

  /// The ends of a flow that began on that side, on their own sides.
  static Ends ends_of(const Flow& flow, bool begun_outside);
  bool ended(const Flow& flow, bool begun_outside) const;

  const Options& options_;
  const match::TupleSpace& elements_;
  NetlinkSocket socket_;
  MessageBuffer removals_;
  struct Free {
    void operator()(nf_conntrack* flow) const;
  };
  std::unique_ptr<nf_conntrack, Free> scratch_;
  std::size_t removals_left_ = kRemovalsPerBatch;  ///< of this batch
  EndedRules pending_;                             ///< rules whose flows must be looked for
  EndedRules sweeping_;                            ///< those that the sweep under way looks for
  bool untranslated_ = false;  ///< flows to the pools that are not translated, too
  bool hurry_ = false;         ///< a new rule waits for the flows to go
  bool sweeping_untranslated_ = false;
  std::vector<IpAddress> local_;  ///< the router's own addresses, as of this sweep
  Instant sweep_began_{};
  std::chrono::nanoseconds sweep_took_{};
  Dump dump_;
  boost::asio::steady_timer timer_;
  bool armed_ = false;
  bool hurrying_ = false;  ///< armed for as soon as possible
};

}  // namespace simco::backend::nftables
