// Says of everything that the middlebox does whether it may: each reply, each ARE, and the rules
// that are enforced and stored, compared with the plain model of tests/simulator/model.hpp.
//
// One session, the auditor's, belongs to an agent that sees all rules and asks for nothing, on a
// path without faults. It hears of each change of a rule at the moment at which the middlebox
// settles it: in this order the model carries out the agents' requests.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulator/audience.hpp"
#include "tests/simulator/change_judge.hpp"
#include "tests/simulator/crash_judge.hpp"
#include "tests/simulator/facts.hpp"
#include "tests/simulator/observed_channel.hpp"
#include "tests/simulator/reply_judge.hpp"

namespace simco::simulator {

class Judge {
 public:
  /// `store` is nullptr if rules end with the middlebox. All must outlive this.
  Judge(test::Model& model, const test::VirtualTime& time, const WallClock& wall,
        const SimStore* store, std::function<void(const std::string&)> trace)
      : facts_(model, time, wall, store), trace_(std::move(trace)) {}

  // --- Actions of agents ---

  /// A connection of `who` has been made; `genuine` if it can authenticate. Session numbers are
  /// never used again.
  void connected(std::uint32_t session, const std::string& who, bool auditor, bool genuine);
  /// The session sends a request. TIDs are never used again by any session.
  void asked(std::uint32_t session, TransactionId tid, const Body& request);
  /// Its path has broken, which the middlebox need not know.
  void cut(std::uint32_t number) { audience_.at(number).cut = true; }
  /// Its agent wants to end it.
  void leaving(std::uint32_t number) { audience_.at(number).leaving = true; }
  /// The middlebox has closed it, and need not tell it of changes at this moment.
  void closed(std::uint32_t number) { audience_.at(number).closed = true; }
  /// The middlebox will send nothing more on it. Its requests may have been carried out or not.
  void session_over(std::uint32_t session);
  bool is_open(std::uint32_t session) const { return audience_.at(session).open; }
  std::size_t in_flight(std::uint32_t session) const {
    return audience_.at(session).in_flight.size();
  }

  // --- Actions of the middlebox ---

  /// The configuration has all agents but these, from now on.
  void reconfigured(const std::set<std::string>& unknown);
  /// Judges its messages since the last time, which must be of a single moment.
  void judge(std::vector<Sent>& record);
  /// It has been killed, or another one takes over.
  void gone();
  /// It has started, or stood by until now, with the rules that `backend` now has.
  void started(const SimBackend& backend, bool stood_by);
  /// Everybody has waited long enough, and nothing has failed for a while: all must be answered,
  /// and model, backend and store must have the same rules.
  void quiet(std::size_t rules_of_middlebox) const;
  /// An orderly stop is over: every session that was open must have been told.
  void stopped() const { audience_.check_stopped(); }

  const ReplyJudge& replies() const { return replies_; }
  std::uint64_t events() const { return events_; }

 private:
  void trace(std::uint32_t number, const char* does, TransactionId tid, const Body& body) const;
  void judge_message(std::size_t at);
  void judge_reply(std::uint32_t session, TransactionId tid, const Body& reply);
  void judge_opening(Session& session, const Body& reply);
  void judge_event(std::size_t at, std::uint32_t pid, std::uint32_t lifetime);
  /// The session whose reply about `pid` follows, if one does: it hears of no event.
  std::uint32_t session_replied_after(std::size_t at, std::uint32_t pid) const;
  void check_rules() const;
  void check_stored() const;

  Facts facts_;
  Audience audience_;
  ReplyJudge replies_{facts_};
  ChangeJudge changes_{facts_};
  CrashJudge crashes_{facts_};
  std::function<void(const std::string&)> trace_;  ///< may be empty
  std::uint64_t events_ = 0;

  // Of the turn that is being judged
  const std::vector<Sent>* record_ = nullptr;
  std::vector<Message> messages_;
};

}  // namespace simco::simulator
