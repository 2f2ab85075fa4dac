// Whether a rule may begin, change or end as the auditor hears it, and the model's state of it from
// then on.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "tests/simulator/facts.hpp"

namespace simco::simulator {

class ChangeJudge {
 public:
  explicit ChangeJudge(Facts& facts) : facts_(facts) {}

  /// Whose rule has changed, and the session that asked for a new one.
  struct Change {
    std::string owner;
    std::optional<std::uint32_t> created_by;
  };
  /// The middlebox has settled a change of a rule; `lifetime` is 0 if it has ended.
  Change judge(std::uint32_t pid, std::uint32_t lifetime);
  /// The PDR that made the disable rule has been answered: the rules that it overlaps must be
  /// closed.
  void disabled(std::uint32_t pid);
  void check_disabled_traffic() const;
  /// The middlebox is gone.
  void forget() { disabled_.clear(); }

 private:
  Body without_group_that_was(const Request& request, const test::Given& given) const;
  /// Returns the request that has made it.
  const Request& judge_new_rule(std::uint32_t pid, std::uint32_t lifetime);
  void judge_end(std::uint32_t pid);
  void judge_change(std::uint32_t pid, std::uint32_t lifetime);

  Facts& facts_;
  std::map<std::uint32_t, Instant> groups_gone_at_;
  std::set<std::uint32_t> disabled_;
};

}  // namespace simco::simulator
