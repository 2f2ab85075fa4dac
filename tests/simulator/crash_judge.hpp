// The changes that a crash or a takeover may undo: those that are not stored, and nothing else.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "middlebox/commit/journal.hpp"
#include "tests/simulator/facts.hpp"

namespace simco::simulator {

class CrashJudge {
 public:
  explicit CrashJudge(Facts& facts) : facts_(facts) {}

  /// A rule has ended, or a request been refused: in doubt if the store fails.
  void ended(std::uint32_t pid);
  void refused(TransactionId tid, const Request& request);
  /// The store works again: its later contents are no longer in doubt.
  void forget_doubts();
  /// The middlebox, or another one in its place, has started with the rules that the backend has.
  void recovered(bool stood_by);

 private:
  void recover_rule(std::uint32_t pid);
  void recover_end(std::uint32_t pid);
  /// The store's record of the rule.
  middlebox::KeptRule stored(std::uint32_t pid) const;
  /// The end that the store had of the rule, by the wall clock as it was set at any time.
  std::vector<Instant> stored_ends(std::uint32_t pid) const;
  /// The stored end is that of the rule that the model knows.
  bool is_stored_as_known(std::uint32_t pid) const;
  /// Recovery has computed the end from the stored record.
  void check_recovered_end(std::uint32_t pid, bool stood_by) const;
  /// A request that may have changed or, if it `enables`, enabled the rule without a reply.
  const Request* explanation(std::uint32_t pid, bool enables);
  /// The store does not know of it: a crash may undo it.
  bool is_doubtful(std::uint64_t since) const { return facts_.store->last_success() <= since; }

  Facts& facts_;
  std::map<std::uint32_t, std::string> stored_;  ///< at the start
  /// The record from which the rule got its end.
  std::map<std::uint32_t, std::pair<std::string, Instant>> recovered_from_;
  /// Each with the number of writes begun by then.
  std::map<std::uint32_t, std::pair<test::ModelRule, std::uint64_t>> doubtful_rules_;
  std::map<std::uint32_t, std::pair<Request, std::uint64_t>> doubtful_requests_;
};

}  // namespace simco::simulator
