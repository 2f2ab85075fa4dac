// A kernel in memory that takes its time, refuses, and goes on enforcing while the middlebox is
// gone.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "middlebox/backend/backend.hpp"
#include "tests/simulator/random.hpp"
#include "tests/support/virtual_time.hpp"

namespace simco::simulator {

class SimBackend final : public backend::Backend {
 public:
  struct Enforced {
    rule::RuleRecord rule;  ///< its owner_name is not valid
    std::string owner;
  };

  /// `prompt`: answers from inside apply(), as nftables does. All must outlive this.
  SimBackend(test::VirtualTime& time, Random& random, bool prompt)
      : time_(time), random_(random), prompt_(prompt) {}

  std::string_view name() const override { return "simulated"; }
  Capabilities capabilities() const override { return backend::full_packet_filter(); }
  std::vector<rule::ChangeResult> begin(std::span<const rule::RuleChange> rules) override;
  void apply(std::span<const rule::RuleChange> batch, Client& client) override;
  /// The middlebox is gone: of the batch under way each change is made or not.
  void crash();

  /// From now on nothing is refused, or changes are again.
  void heal(bool healed = true) { reliable_ = healed, refuses_ = 0; }
  /// The enforced rules, by PID.
  const std::map<std::uint32_t, Enforced>& table() const { return table_; }
  /// It has refused to add the rule that a request of that TID asked for.
  bool refused_addition(TransactionId tid) const { return refused_tids_.contains(tid.value); }
  /// It has refused to change or remove the rule.
  bool refused_change(std::uint32_t pid) const { return refused_pids_.contains(pid); }
  bool refused_removal(std::uint32_t pid) const { return refused_removals_.contains(pid); }
  /// It has refused the rule when it last began.
  bool refused_at_start(std::uint32_t pid) const { return refused_at_start_.contains(pid); }

 private:
  void finish();
  rule::ChangeResult carry_out(const rule::RuleChange& change);
  bool refuses();
  void enforce(const rule::RuleChange& change);

  test::VirtualTime& time_;
  Random& random_;
  const bool prompt_;
  std::map<std::uint32_t, Enforced> table_;
  std::span<const rule::RuleChange> batch_;
  Client* client_ = nullptr;
  std::uint64_t batches_ = 0;
  std::uint32_t refuses_ = 0;  ///< at random, among so many more changes
  bool reliable_ = false;
  std::set<std::uint32_t> refused_tids_;
  std::set<std::uint32_t> refused_pids_;
  std::set<std::uint32_t> refused_removals_;
  std::set<std::uint32_t> refused_at_start_;
};

}  // namespace simco::simulator
