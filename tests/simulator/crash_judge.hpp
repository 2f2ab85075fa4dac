// What a crash or a takeover may undo: what the store has not got, and nothing else.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "tests/simulator/facts.hpp"

namespace simco::simulator {

class CrashJudge {
 public:
  explicit CrashJudge(Facts& facts) : facts_(facts) {}

  /// A rule has ended, or a request been refused: in doubt if the store fails.
  void ended(std::uint32_t pid);
  void refused(TransactionId tid, const Request& request);
  /// The store works again: what it has got since is not in doubt any more.
  void forget_doubts();
  /// The middlebox, or another one in its place, has started with the rules that the backend has.
  void recovered();

 private:
  void recover_rule(std::uint32_t pid);
  void recover_end(std::uint32_t pid);
  /// The store does not know of it: a crash may undo it.
  bool is_doubtful(std::uint64_t since) const { return facts_.store->last_success() <= since; }

  Facts& facts_;
  /// Each with the number of writes begun by then.
  std::map<std::uint32_t, std::pair<test::ModelRule, std::uint64_t>> doubtful_rules_;
  std::map<std::uint32_t, std::pair<Request, std::uint64_t>> doubtful_requests_;
};

}  // namespace simco::simulator
