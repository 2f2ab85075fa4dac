// Keeps rules alive: renews each in the middle of its lifetime (PLC, RFC 4540 section 8.5), and
// finds the remaining rules after a reconnection (PRL and PRS, 8.7 and 8.6). Ends rules that are no
// longer wanted, in a later session if need be. No sockets, no clock, no timers: outcomes and times
// go in; requests, a deadline and losses come out.
//
// Threads: none of its own; use one object from one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "simco/wire/ids.hpp"
#include "simco/wire/instant.hpp"
#include "simco/wire/messages.hpp"

namespace simco {

/// A rule to keep, and the parts of its status (PRS, 8.6) that identify it.
struct KeptRule {
  /// Terms of an enable rule, as requested.
  struct Terms {
    AddressTuple internal;
    AddressTuple external;
    Direction direction = Direction::kInbound;
    friend bool operator==(const Terms&, const Terms&) = default;
  };
  PolicyRuleId pid;
  std::optional<Terms> enabled;  ///< nullopt: a reservation (PRR, 8.2)
  AddressTuple outside;          ///< as granted
  Lifetime wanted;               ///< requested with each renewal
  friend bool operator==(const KeptRule&, const KeptRule&) = default;
};

/// Why a rule could not be kept.
enum class RuleLoss : std::uint8_t {
  kEnded,    ///< the middlebox says that the rule does not exist, or announced its end (ARE)
  kExpired,  ///< its lifetime ran out before a renewal succeeded
  kNotOurs,  ///< its PID denotes another rule, for example after a restart of the middlebox
};

/// The rules that are kept across sessions.
class RuleKeeper {
 public:
  /// A request to send. The end of its transaction goes to on_end(), with the same `pid`.
  struct Request {
    std::optional<PolicyRuleId> pid;  ///< the rule that it is about; none in a PRL request
    Body body;
  };
  /// A rule that is no longer kept.
  struct Loss {
    PolicyRuleId pid;
    RuleLoss why;
    friend bool operator==(const Loss&, const Loss&) = default;
  };

  /// Begins to keep a rule of the open session, which was granted this lifetime at `now`.
  void keep(const KeptRule& rule, Lifetime granted, Instant now);
  /// The rule need not be kept any longer. Does nothing if it is not.
  void forget(PolicyRuleId pid);
  /// The rule must end: PLC requests with lifetime 0 are due, in this session or in later ones,
  /// until take_loss() returns the rule. Does nothing if it is not kept.
  void end(PolicyRuleId pid);
  /// Returns the rules that must end and of which take_loss() has not returned the end.
  std::vector<KeptRule> unended() const;
  /// Returns the rule, valid until the next call, or null if it is not kept.
  const KeptRule* find(PolicyRuleId pid) const;

  /// A session is open: the rules of the previous session must be found again.
  void on_session_open();
  /// The session ended. Rules stay until their lifetime is over. Transactions that it ended may
  /// be reported before or after.
  void on_session_end();
  /// An ARE notification (8.9).
  void on_rule_event(PolicyRuleId pid, Lifetime lifetime, Instant now);
  /// The transaction of a request ended. `reply`: null if none came.
  void on_end(std::optional<PolicyRuleId> pid, const Body* reply, Instant now);

  /// Returns a request that is due, or nullopt. Call it until it returns nullopt: after each of the
  /// calls above, and at next_deadline(). At most kKeptRequestsMax are under way at a time.
  std::optional<Request> next_request(Instant now);
  /// Returns the next loss that was not returned yet, or nullopt.
  std::optional<Loss> take_loss();
  /// Returns when next_request() and take_loss() must be called, if at all. Calling them earlier is
  /// harmless.
  std::optional<Instant> next_deadline() const;

 private:
  struct Entry {
    KeptRule rule;
    Instant expires;      ///< the rule may be gone by then
    Instant due;          ///< of its renewal, or of the search for it
    Instant planned;      ///< its place in agenda_
    bool asked = false;   ///< a request about it is under way
    bool unsure = false;  ///< not seen since the session was opened
    bool ends = false;    ///< end() was called
  };
  using Rules = std::unordered_map<PolicyRuleId, Entry>;

  /// The PRL after a reconnection.
  enum class Listing : std::uint8_t { kNone, kWanted, kUnderWay };

  /// Brings the entry to its place in the agenda.
  void plan(Entry& entry);
  void granted(Entry& entry, Lifetime lifetime, Instant now);
  void retry(Entry& entry, Instant now);
  void lose(Rules::iterator found, RuleLoss why);
  void on_listed(const Body* reply, Instant now);

  Rules rules_;
  std::set<std::pair<Instant, PolicyRuleId>> agenda_;  ///< when something is due for each rule
  std::deque<Loss> losses_;
  std::size_t under_way_ = 0;  ///< requests
  Listing listing_ = Listing::kNone;
  bool open_ = true;
};

}  // namespace simco
