// The element planner against a plain model, over random runs: rules of all kinds come, are renewed
// and go; sets, single changes and whole commits are refused. The planner must agree with the model
// at every moment, and a kernel that carries out its operations must have exactly the elements that
// the rules in force need.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

#include "middlebox/backend/nftables/elements/element_planner.hpp"
#include "middlebox/backend/nftables/limits.hpp"
#include "simco/wire/tuple_text.hpp"
#include "tests/support/sanitizer.hpp"
#include "tests/unit/backend/planner_model.hpp"

namespace simco::backend::nftables::test {
namespace {

using match::Ends;
using rule::RuleKind;
using rule::RuleRecord;

enum class Nat : std::uint8_t { kNone, kTraditional, kTwice };

/// Random rules, few enough different ones that they meet.
class RuleSource {
 public:
  RuleSource(Nat nat, unsigned seed) : nat_(nat), random_(seed) {}

  std::uint32_t below(std::uint32_t count) { return static_cast<std::uint32_t>(random_() % count); }
  bool one_in(std::uint32_t count) { return below(count) == 0; }
  template <typename T>
  T one_of(std::initializer_list<T> choices) {
    return choices.begin()[below(static_cast<std::uint32_t>(choices.size()))];
  }

  RuleRecord rule(std::uint32_t pid, Instant now) {
    RuleRecord rule;
    rule.pid = PolicyRuleId{pid};
    rule.owner = rule::AgentId{1 + below(4)};
    rule.expires_at = end_after(now);
    rule.kind = one_in(8) ? RuleKind::kDisable : RuleKind::kEnable;
    rule.parameters.direction =
        one_of({Direction::kInbound, Direction::kOutbound, Direction::kBidirectional});
    version_ = one_in(5) ? IpVersion::kIpv6 : IpVersion::kIpv4;
    const auto protocol =
        one_of<std::uint8_t>({kProtocolUdp, kProtocolUdp, kProtocolTcp, kProtocolAny});
    const auto count =
        one_in(60) ? std::uint16_t{40} : one_of<std::uint16_t>({1, 1, 2, 2, 3, 4, 1500});
    rule.internal = tuple(Location::kInternal, protocol, one_in(6) ? 0 : count);
    rule.external = tuple(Location::kExternal, protocol, one_in(3) ? 0 : count);
    if (nat_ != Nat::kNone && rule.kind == RuleKind::kEnable && !one_in(4)) {
      rule.outside = binding(rule.internal, Location::kOutside);
      if (nat_ == Nat::kTwice) rule.inside = binding(rule.external, Location::kInside);
    }
    return rule;
  }
  Instant end_after(Instant now) { return now + std::chrono::seconds(1 + below(600)); }

  /// Both ends of a packet that some of these rules may be about.
  Ends packet() {
    version_ = one_in(5) ? IpVersion::kIpv6 : IpVersion::kIpv4;
    const auto protocol = one_of<std::uint8_t>({kProtocolUdp, kProtocolTcp, 47});
    const auto internal = tuple(Location::kInternal, kProtocolUdp, 1);
    const auto external = tuple(Location::kExternal, kProtocolUdp, 1);
    const auto port = [&](const AddressTuple& end) {
      return static_cast<std::uint16_t>(end.port + (one_in(3) ? below(2000) : below(4)));
    };
    return {version_, protocol, internal.address, external.address, port(internal), port(external)};
  }

 private:
  AddressTuple tuple(Location location, std::uint8_t protocol, std::uint16_t ports) {
    AddressTuple tuple;
    tuple.ip_version = version_;
    tuple.location = location;
    tuple.protocol = protocol;
    const bool ipv4 = version_ == IpVersion::kIpv4;
    const auto all = address_bits(version_);
    const auto bits = one_in(4) ? below(all + 1U) : all;
    const auto host = std::to_string(1 + below(3));
    const bool inside = location == Location::kInternal || location == Location::kInside;
    const auto address = *parse_address(ipv4 ? (inside ? "10.0.0." : "192.0.2.") + host
                                             : (inside ? "2001:db8::" : "2001:db8:1::") + host);
    tuple.prefix_length = static_cast<std::uint8_t>(bits);
    tuple.address = masked(address, bits).octets;
    if (ports == 0 || protocol == kProtocolAny) return tuple;
    tuple.port = static_cast<std::uint16_t>(1000 + below(6));
    tuple.port_range = ports;
    return tuple;
  }

  /// The tuple that a NAT takes from its pool for `end`; here also a tuple that it would never give
  /// out twice.
  AddressTuple binding(const AddressTuple& end, Location location) {
    AddressTuple bound = tuple(location, end.protocol, end.port_range);
    bound.prefix_length = address_bits(version_);
    if (has_ports(end)) bound.port = static_cast<std::uint16_t>(30'000 + end.port + below(3));
    return bound;
  }

  Nat nat_;
  std::mt19937 random_;
  IpVersion version_ = IpVersion::kIpv4;
};

/// A planner, the kernel that carries its operations out, and the model of both.
class RandomRun {
 public:
  RandomRun(Nat nat, unsigned seed) : source_(nat, seed) {}

  void step() {
    make_batch();
    planner_.begin_batch(batch_);
    decided_.assign(batch_.size(), std::nullopt);
    uncertain_.clear();
    const auto count = static_cast<std::uint32_t>(batch_.size());
    for (std::uint32_t begin = 0; begin < count && !testing::Test::HasFailure();) commit(begin);
    if (testing::Test::HasFailure()) return;
    for (std::uint32_t i = 0; i < count; ++i) {
      ++outcomes_[{batch_[i].kind, planner_.results()[i]}];
    }
    EXPECT_EQ(kernel_, model_.table());
    check_stores(model_);
    for (int i = 0; i < 20; ++i) {
      const auto packet = source_.packet();
      const bool allowed = model_.allows(packet);
      allowed_ += allowed ? 1 : 0;
      EXPECT_EQ(planner_.elements().allows(packet), allowed);
    }
    check_translations();
    now_ += std::chrono::seconds(source_.below(3));
    if (source_.one_in(4)) remove_idle_sets();
  }

  /// Plans the rules that are in force anew, as after a restart.
  void recover() {
    std::vector<RuleChange> rules;
    for (const auto& rule : model_.rules) {
      rules.push_back({RuleChange::Kind::kAdd, {}, {}, rule.record});
    }
    ElementPlanner recovered;
    recovered.recover(rules, now_);
    for (std::size_t i = 0; i < rules.size(); ++i) {
      EXPECT_EQ(recovered.results()[i], ChangeResult::kDone) << rules[i].after.pid.value;
    }
    for (int i = 0; i < 200; ++i) {
      const auto packet = source_.packet();
      EXPECT_EQ(recovered.elements().allows(packet), model_.allows(packet));
    }
  }

  std::map<std::pair<RuleChange::Kind, ChangeResult>, int> outcomes_;
  int undone_ = 0;
  int sets_removed_ = 0;
  int shared_ = 0;
  int in_intervals_ = 0;
  int allowed_ = 0;
  int translated_ = 0;

 private:
  void make_batch() {
    batch_.clear();
    for (std::uint32_t left = 1 + source_.below(12); left > 0; --left) {
      const auto which = source_.below(10);
      if (known_.size() < 5 || (which < 5 && known_.size() < 40)) {
        auto record = source_.rule(++last_pid_, now_);
        if (!known_.empty() && source_.one_in(3)) {
          const auto& same = known_[source_.below(static_cast<std::uint32_t>(known_.size()))];
          const auto of_its_own = record;
          record = same;
          record.pid = of_its_own.pid;
          record.owner = of_its_own.owner;
          record.expires_at = of_its_own.expires_at;
        }
        if (source_.one_in(10)) record.kind = RuleKind::kReserve;
        known_.push_back(record);
        batch_.push_back({RuleChange::Kind::kAdd, {}, {}, record});
      } else {
        change_known(source_.below(static_cast<std::uint32_t>(known_.size())));
      }
    }
  }

  void change_known(std::uint32_t index) {
    const auto before = known_[index];
    auto after = before;
    if (before.kind == RuleKind::kReserve && source_.one_in(2)) {
      after = source_.rule(before.pid.value, now_);
      after.kind = RuleKind::kEnable;
      batch_.push_back({RuleChange::Kind::kReplace, {}, before, after});
      known_[index] = after;
    } else if (source_.one_in(3)) {
      after.expires_at = source_.end_after(now_);
      batch_.push_back({RuleChange::Kind::kSetLifetime, {}, before, after});
      known_[index] = after;
    } else {
      batch_.push_back({RuleChange::Kind::kRemove, {}, before, {}});
      known_.erase(known_.begin() + index);
    }
  }

  /// Carries out the changes from `begin` on, as the backend does: until one commit is accepted.
  void commit(std::uint32_t& begin) {
    auto end = static_cast<std::uint32_t>(batch_.size());
    const bool enforceable = !source_.one_in(40);
    while (!testing::Test::HasFailure()) {
      const PlannerModel before = model_;
      const auto planned = planner_.plan(begin, end, now_, enforceable);
      apply_to_model(begin, planned, enforceable);
      for (const auto& operation : planner_.operations()) {
        touch(operation.store->mask());
        EXPECT_EQ(operation.uncertain, uncertain_.contains(operation.change));
      }
      if (planner_.missing()) {
        undo(before);
        provide_set(planned, enforceable);
        continue;
      }
      ASSERT_GT(planned, begin);
      Table after = kernel_;
      for (const auto& operation : planner_.operations()) carry_out(operation, after);
      if (source_.below(10) < 6) {
        planner_.accept();
        // Without a table nothing was sent; when there is one again, it is made whole.
        kernel_ = enforceable ? after : model_.table();
        begin = planned;
        return;
      }
      undo(before);
      if (source_.one_in(3)) end = begin + 1;  // one by one
      if (!source_.one_in(3)) {
        const auto guilty = begin + source_.below(planned - begin);
        planner_.mark_uncertain(guilty);
        uncertain_.insert(guilty);
        if (source_.one_in(2)) refuse(guilty, ChangeResult::kRefused);
      }
    }
  }

  void apply_to_model(std::uint32_t begin, std::uint32_t planned, bool enforceable) {
    for (auto i = begin; i < planned; ++i) {
      const auto expected = model_.expect(batch_[i], enforceable);
      EXPECT_FALSE(expected.missing && !decided_[i]) << "change " << i << " needs a set";
      const auto result = decided_[i].value_or(expected.result);
      EXPECT_EQ(planner_.results()[i], result) << "change " << i;
      if (result != ChangeResult::kDone) continue;
      model_.apply(batch_[i], expected.elements);
      for (const auto& element : expected.elements) {
        shared_ += model_.holders(element.mask, element.key).size() > 1 ? 1 : 0;
        in_intervals_ += element.mask.intervals ? 1 : 0;
      }
    }
    if (!planner_.missing()) return;
    const auto expected = model_.expect(batch_[planned], enforceable);
    EXPECT_EQ(expected.missing, planner_.missing()->mask);
    EXPECT_EQ(planner_.missing()->owner, batch_[planned].rule().owner);
    missing_ = *planner_.missing();
  }

  void undo(const PlannerModel& before) {
    ++undone_;
    planner_.undo();
    model_ = before;
    EXPECT_TRUE(planner_.operations().empty());
    check_stores(before);
  }

  void provide_set(std::uint32_t change, bool enforceable) {
    EXPECT_TRUE(enforceable);
    if (source_.one_in(8)) return refuse(change, ChangeResult::kNoResources);
    planner_.add_set(missing_, now_);
    model_.sets.push_back({missing_.mask, missing_.owner});
    kernel_[missing_.mask];
    touch(missing_.mask);
  }

  void refuse(std::uint32_t change, ChangeResult result) {
    planner_.refuse(change, result);
    decided_[change] = result;
  }

  /// The effect of an operation in the kernel, which has exactly the planner's elements.
  static void carry_out(const Operation& operation, Table& table) {
    auto& set = table.at(operation.store->mask());
    const auto key = octets_of(operation.key);
    const auto found = set.find(key);
    ASSERT_EQ(found == set.end(), operation.before.empty());
    if (found != set.end()) {
      EXPECT_EQ(found->second, (Content{last_end(operation.before), operation.target}));
      set.erase(found);
    }
    if (operation.after.empty()) return;
    set.emplace(key, Content{last_end(operation.after), operation.target});
  }

  void check_stores(const PlannerModel& model) {
    Table stored;
    for (const auto& [mask, store] : planner_.elements().stores()) {
      auto& set = stored[mask];
      store->for_each([&](const Key& key, Instant expires_at) {
        set[octets_of(key)] = {expires_at, store->target(key)};
        std::vector<std::uint32_t> holders;
        for (const auto& holder : store->find(key)) holders.push_back(holder.pid.value);
        if (holders.size() < 2) return;
        EXPECT_EQ(holders, model.holders(mask, key));
      });
    }
    EXPECT_EQ(stored, model.table());
  }

  /// The first packet of a flow that begins outside is translated as the rule has it.
  void check_translations() {
    constexpr std::uint16_t kAnyPort = 9;
    const auto port = [](const AddressTuple& tuple) {
      return has_ports(tuple) ? tuple.port : kAnyPort;
    };
    for (const auto& [record, elements] : model_.rules) {
      if (!record.outside || record.parameters.direction == Direction::kOutbound) continue;
      const auto& [internal, external] = std::tie(record.internal, record.external);
      const match::Translation flow{{internal.ip_version, internal.protocol, internal.address,
                                     external.address, port(internal), port(external)},
                                    record.outside->address,
                                    port(*record.outside),
                                    true};
      EXPECT_TRUE(planner_.elements().translates(flow)) << "rule " << record.pid.value;
      match::Ends met = flow.ends;
      met.internal = flow.outside;
      met.internal_port = flow.outside_port;
      EXPECT_TRUE(planner_.elements().translates_destination(met, true));
      met.internal[0] ^= std::byte{0xFF};  // no pool has that address
      EXPECT_FALSE(planner_.elements().translates_destination(met, true));
      ++translated_;
    }
  }

  void touch(const Mask& mask) { touched_[mask] = now_; }

  void remove_idle_sets() {
    constexpr std::chrono::seconds kIdle{5};
    const auto idle = planner_.idle_sets(now_ - kIdle);
    for (const auto& mask : idle) EXPECT_TRUE(model_.is_empty(mask));
    for (const auto& set : model_.sets) {
      if (!model_.is_empty(set.mask) || touched_.at(set.mask) > now_ - kIdle) continue;
      EXPECT_NE(std::ranges::find(idle, set.mask), idle.end());
    }
    for (const auto& mask : idle) {
      ++sets_removed_;
      planner_.remove_set(mask);
      std::erase_if(model_.sets, [&](const auto& set) { return set.mask == mask; });
      kernel_.erase(mask);
    }
  }

  RuleSource source_;
  ElementPlanner planner_;
  PlannerModel model_;
  Table kernel_;
  Instant now_{std::chrono::hours(1)};
  std::uint32_t last_pid_ = 0;
  std::vector<RuleRecord> known_;  ///< rules that may be changed, whether they were granted or not
  std::map<Mask, Instant> touched_;
  std::vector<RuleChange> batch_;
  std::vector<std::optional<ChangeResult>> decided_;
  std::set<std::uint32_t> uncertain_;
  MissingSet missing_;
};

// --- Single cases --------------------------------------------------------------------------------

RuleRecord rule_of(std::uint32_t pid, const std::string& internal, const std::string& external) {
  RuleRecord rule;
  rule.pid = PolicyRuleId{pid};
  rule.owner = rule::AgentId{1};
  rule.internal =
      parse_endpoint(internal)->tuple(IpVersion::kIpv4, kProtocolUdp, Location::kInternal);
  rule.external =
      parse_endpoint(external)->tuple(IpVersion::kIpv4, kProtocolUdp, Location::kExternal);
  rule.parameters.direction = Direction::kInbound;
  return rule;
}
RuleChange addition_of(const RuleRecord& rule) { return {RuleChange::Kind::kAdd, {}, {}, rule}; }

/// Plans changes from `begin` on, and makes all sets that this takes.
std::uint32_t plan_all(ElementPlanner& planner, std::uint32_t begin, std::uint32_t end) {
  for (;;) {
    const auto planned = planner.plan(begin, end, {}, true);
    if (!planner.missing()) return planned;
    const auto missing = *planner.missing();
    planner.undo();
    planner.add_set(missing, {});
  }
}

TEST(ElementPlanner, ALargeBatchIsSeveralCommits) {
  std::vector<RuleChange> batch;
  for (std::uint32_t pid = 1; pid <= 20; ++pid) {
    const auto host = "10.0.0." + std::to_string(pid);
    batch.push_back(addition_of(rule_of(pid, host + ":1001/1024", "192.0.2.1:2000/1024")));
  }
  ElementPlanner planner;
  planner.begin_batch(batch);
  std::uint32_t done = 0;
  int commits = 0;
  for (; done < batch.size(); ++commits) {
    const auto planned = plan_all(planner, done, static_cast<std::uint32_t>(batch.size()));
    ASSERT_GT(planned, done);
    // The excess over the limit is at most the amount prepared at a time.
    EXPECT_LE(planner.operations().size(),
              kCommitOctets / kOperationOctets + kPreparedChanges * 1024);
    planner.accept();
    done = planned;
  }
  EXPECT_EQ(commits, 2);
}

// However many ports one rule has.
TEST(ElementPlanner, OneRuleDoesNotTakeMoreIntervalsThanItMay) {
  std::vector<RuleChange> batch;
  for (std::uint32_t bits = 8; bits < 24; ++bits) {
    const auto network = "10.0.0.0/" + std::to_string(bits);
    batch.push_back(addition_of(rule_of(bits, network + ":1000", "192.0.2.1:2000")));
  }
  batch.push_back(addition_of(rule_of(100, "10.0.0.0/25:1001/512", "192.0.2.1:2000/512")));
  batch.push_back(addition_of(rule_of(101, "10.0.0.0/25:1001/20", "192.0.2.1:2000/20")));
  batch.push_back(addition_of(rule_of(102, "10.0.0.0/25:3001/200", "192.0.2.1:2000/200")));
  ElementPlanner planner;
  planner.begin_batch(batch);
  const auto count = static_cast<std::uint32_t>(batch.size());
  ASSERT_EQ(plan_all(planner, 0, count), count);
  EXPECT_EQ(planner.results()[16], ChangeResult::kNoResources);
  EXPECT_EQ(planner.results()[17], ChangeResult::kDone);
  EXPECT_EQ(planner.results()[18], ChangeResult::kNoResources) << "more than its share";
  for (const auto& [mask, store] : planner.elements().stores()) {
    EXPECT_LE(mask.intervals ? store->size() : 0, kIntervalsMax);
  }
}

// --- Random runs ---------------------------------------------------------------------------------

class PlannerModelRun : public testing::TestWithParam<Nat> {};

TEST_P(PlannerModelRun, AgreesOverRandomRuns) {
  constexpr unsigned kSeeds = simco::test::kSanitized ? 15 : 60;
  constexpr int kSteps = 50;
  std::map<std::pair<RuleChange::Kind, ChangeResult>, int> outcomes;
  int undone = 0, sets_removed = 0, shared = 0, in_intervals = 0, allowed = 0, translated = 0;
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    RandomRun run(GetParam(), seed);
    for (int step = 0; step < kSteps; ++step) {
      run.step();
      ASSERT_FALSE(HasFailure()) << "seed " << seed << ", step " << step;
    }
    run.recover();
    ASSERT_FALSE(HasFailure()) << "seed " << seed << ", recovery";
    for (const auto& [what, count] : run.outcomes_) outcomes[what] += count;
    undone += run.undone_;
    sets_removed += run.sets_removed_;
    shared += run.shared_;
    in_intervals += run.in_intervals_;
    allowed += run.allowed_;
    translated += run.translated_;
  }
  using Kind = RuleChange::Kind;
  // So often in sixty seeds.
  const auto times = [](unsigned in_sixty_seeds) {
    return static_cast<int>(in_sixty_seeds * kSeeds / 60);
  };
  for (const auto kind : {Kind::kAdd, Kind::kReplace, Kind::kSetLifetime, Kind::kRemove}) {
    EXPECT_GT((outcomes[{kind, ChangeResult::kDone}]), times(100));
    EXPECT_GT((outcomes[{kind, ChangeResult::kRefused}]), times(20));
  }
  EXPECT_GT((outcomes[{Kind::kAdd, ChangeResult::kNoResources}]), times(100));
  EXPECT_GT(undone, times(1000));
  EXPECT_GT(sets_removed, times(50));
  EXPECT_GT(shared, times(1000));
  EXPECT_GT(in_intervals, times(1000));
  EXPECT_GT(allowed, times(1000));
  EXPECT_EQ(translated > times(1000), GetParam() != Nat::kNone);
}

INSTANTIATE_TEST_SUITE_P(, PlannerModelRun,
                         testing::Values(Nat::kNone, Nat::kTraditional, Nat::kTwice));

}  // namespace
}  // namespace simco::backend::nftables::test
