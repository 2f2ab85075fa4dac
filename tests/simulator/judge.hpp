// Says of everything that the middlebox does whether it may: each reply, each ARE, and the rules
// that are enforced and kept, compared with the plain model of tests/support/model.hpp.
//
// One session, the auditor's, belongs to an agent that sees all rules and asks for nothing, on a
// path without faults. It hears of each change of a rule at the moment at which the middlebox
// settles it: that is the order in which the model carries out what agents have asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulator/fault.hpp"
#include "tests/simulator/observed_channel.hpp"
#include "tests/simulator/sim_backend.hpp"
#include "tests/simulator/sim_store.hpp"
#include "tests/support/model.hpp"
#include "tests/support/virtual_time.hpp"

namespace simco::simulator {

class Judge {
 public:
  /// `store` is nullptr if rules end with the middlebox. All must outlive this.
  Judge(test::Model& model, const test::VirtualTime& time, const SimBackend& backend,
        const SimStore* store, std::function<void(const std::string&)> trace)
      : model_(model), time_(time), backend_(backend), store_(store), trace_(std::move(trace)) {}

  // --- What agents do ---

  /// A connection of `who` has been made. Session numbers are never used again.
  void connected(std::uint32_t session, const std::string& who, bool auditor);
  /// The session sends a request. TIDs are never used again by any session.
  void asked(std::uint32_t session, TransactionId tid, const Body& request);
  /// Its agent wants to end it.
  void leaving(std::uint32_t number) { session(number).leaving = true; }
  /// The middlebox has closed it, and need not tell it of what it does at this moment.
  void closed(std::uint32_t number) { session(number).closed = true; }
  /// The middlebox will send nothing more on it. What it had asked for may have been done or not.
  void session_over(std::uint32_t session);
  bool is_open(std::uint32_t session) const;
  std::size_t in_flight(std::uint32_t session) const;

  // --- What the middlebox does ---

  /// Judges what it has sent since the last time, which must have been at one moment.
  void judge(std::vector<Sent>& record);
  /// It has been killed.
  void crashed();
  /// It has started again with the rules that the backend now has.
  void recovered();
  /// Everybody has waited long enough, and nothing has failed for a while: all must be answered,
  /// and model, backend and store must have the same rules.
  void quiet(std::size_t rules_of_middlebox) const;
  /// An orderly stop is over: every session that was open must have been told.
  void stopped() const;

  std::uint64_t replies = 0;  ///< judged, and of these how many granted something
  std::uint64_t grants = 0;
  std::uint64_t events = 0;

 private:
  struct Request {
    std::string who;
    std::uint32_t session = 0;
    Instant asked_at;
    Body body;
    std::uint32_t disables = 0;  ///< PID of the disable rule that it has made
  };
  using Requests = std::map<std::uint32_t, Request>;  ///< by TID
  struct Session {
    Session() = default;
    Session(std::string agent, bool audits) : who(std::move(agent)), auditor(audits) {}
    std::string who;
    bool auditor = false;
    bool open = false;
    bool closed = false;  ///< by the middlebox, or it knows
    bool over = false;
    bool leaving = false;  ///< asked for the end, and need not be told of events any more
    std::set<std::uint32_t> in_flight;
    /// AREs that it should have heard, less those that it has.
    std::map<std::pair<std::uint32_t, std::uint32_t>, int> unheard;
  };
  /// What the auditor has heard in this turn, and no reply has claimed.
  struct Event {
    std::uint32_t pid;
    std::uint32_t lifetime;
  };

  void trace(std::uint32_t number, const char* does, TransactionId tid, const Body& body) const;
  void judge_message(std::size_t at);
  void judge_reply(std::uint32_t session, TransactionId tid, const Body& reply);
  test::Model::Verdict decide(const Request& request, Instant at) const;
  void judge_refusal(const Request& request, TransactionId tid, const Body& reply) const;
  void judge_read(const Request& request, const Body& reply) const;
  void judge_grant(const Request& request, const Body& reply);
  bool may_be_refused_for_others(const Request& request, NegativeReplyCode code) const;
  /// Claims an event that a reply about that rule has to go with.
  Event claim(std::uint32_t pid, bool ends);

  void judge_event(std::size_t at, std::uint32_t pid, std::uint32_t lifetime);
  Body without_group_that_was(const Request& request, const test::Given& given) const;
  /// Returns the request that has made it.
  const Request& judge_new_rule(std::uint32_t pid, std::uint32_t lifetime);
  void judge_end(std::uint32_t pid);
  void judge_change(std::uint32_t pid, std::uint32_t lifetime);
  /// The session whose reply about `pid` follows, if one does: it hears of no event.
  std::uint32_t session_replied_after(std::size_t at, std::uint32_t pid) const;
  void expect_heard(std::uint32_t pid, std::uint32_t lifetime, const std::string& owner,
                    std::uint32_t cause);
  void check_heard();
  void check_disabled_traffic() const;

  /// What the middlebox has chosen for a rule, by what is enforced.
  test::Given given_of(std::uint32_t pid) const;
  void check_end(const Request& request, std::uint32_t lifetime, Instant expires_at) const;
  /// Its time is over, or a disable rule ends it: it may go at any moment.
  bool is_due(std::uint32_t pid) const;
  bool explains(const Request& request, std::uint32_t pid, std::uint32_t lifetime) const;
  /// Any request in flight, or whose session is over, that `matches`.
  template <class Matches>
  Request* find_request(Matches matches);
  Request* creating_request(std::uint32_t pid);

  void recover_rule(std::uint32_t pid);
  void recover_end(std::uint32_t pid);
  /// The store does not know of it: a crash may undo it.
  bool is_doubtful(std::uint64_t since) const;
  void forget_doubts();
  Session& session(std::uint32_t number) { return sessions_.at(number); }

  test::Model& model_;
  const test::VirtualTime& time_;
  const SimBackend& backend_;
  const SimStore* store_;
  std::function<void(const std::string&)> trace_;  ///< may be empty
  std::map<std::uint32_t, Session> sessions_;
  Requests requests_;  ///< in flight
  Requests orphans_;   ///< whose sessions are over

  // Of the turn that is being judged
  const std::vector<Sent>* record_ = nullptr;
  std::vector<Message> messages_;
  std::vector<Event> events_;

  std::map<std::uint32_t, Instant> groups_gone_at_;
  /// Disable rules whose PDR has been answered: what they hit must be closed.
  std::set<std::uint32_t> disabled_;
  /// Enable rules that a disable rule was to end, however long it has lived.
  std::set<std::uint32_t> doomed_;
  /// Ended, or refused, while the store failed; with the number of writes begun by then.
  std::map<std::uint32_t, std::pair<test::ModelRule, std::uint64_t>> doubtful_rules_;
  std::map<std::uint32_t, std::pair<Request, std::uint64_t>> doubtful_requests_;
};

}  // namespace simco::simulator
