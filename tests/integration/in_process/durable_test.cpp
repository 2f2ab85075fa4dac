// Durable rules through a whole server. The simulation has stores and backends that fail, restarts
// and clocks that jump.
#include <gtest/gtest.h>

#include <atomic>

#include "middlebox/commit/journal.hpp"
#include "middlebox/store/memory_store.hpp"
#include "tests/support/figures.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/server_thread.hpp"

namespace simco::test {
namespace {

using rule::ChangeResult;
using rule::RuleChange;

/// A store that fails while told to.
class FickleStore final : public store::Store {
 public:
  explicit FickleStore(store::Memory& memory) : inner_(memory) {}
  std::string place() const override { return "fickle"; }
  store::Contents open() override { return inner_.open(); }
  void write(const store::Batch& batch) override {
    if (fails) throw store::StoreError("no room");
    inner_.write(batch);
  }
  std::atomic<bool> fails = false;

 private:
  store::MemoryStore inner_;
};

/// A backend that refuses while told to.
class FickleBackend final : public backend::Backend {
 public:
  std::string_view name() const override { return "fickle"; }
  Capabilities capabilities() const override { return backend::full_packet_filter(); }
  std::vector<ChangeResult> begin(std::span<const RuleChange> rules) override {
    return std::vector(rules.size(), refuses ? ChangeResult::kRefused : ChangeResult::kDone);
  }
  void apply(std::span<const RuleChange> batch, Client& client) override {
    results_.assign(batch.size(), refuses ? ChangeResult::kRefused : ChangeResult::kDone);
    client.on_applied(results_);
  }
  std::atomic<bool> refuses = false;

 private:
  std::vector<ChangeResult> results_;
};

struct Box {
  explicit Box(store::Memory& memory, middlebox::ServerOptions options = {}, bool refuses = false)
      : store(memory) {
    backend.refuses = refuses;
    options.audit_rate = 0;
    server.emplace(options, backend, &store);
    agent.emplace(server->port());
    agent->open();
  }
  PolicyRuleId enable(std::uint32_t lifetime_s = 600) {
    const auto reply = agent->ask(pinhole(next_port_ += 2, lifetime_s));
    const auto* done = std::get_if<PerReply>(&reply);
    EXPECT_NE(done, nullptr);
    return done == nullptr ? PolicyRuleId{} : done->pid;
  }
  std::optional<NegativeReplyCode> refused(const Body& request) {
    return refusal(agent->ask(request));
  }
  std::vector<PolicyRuleId> list() {
    const auto reply = std::get<PrlReply>(agent->ask(PrlRequest{}, RawAgent::Events::kMayCome));
    return {reply.pids.begin(), reply.pids.end()};
  }
  FickleStore store;
  FickleBackend backend;
  std::optional<ServerThread> server;
  std::optional<RawAgent> agent;

 private:
  std::uint16_t next_port_ = 20'000;
};

class Durable : public testing::Test {
 protected:
  store::Memory memory;
};

TEST_F(Durable, AgentsAreTold) {
  Box box(memory);
  RawAgent agent(box.server->port());
  EXPECT_TRUE(std::get<SeReply>(agent.ask(SeRequest{})).capabilities.persistent);
  ServerThread plain;
  RawAgent other(plain.port());
  EXPECT_FALSE(std::get<SeReply>(other.ask(SeRequest{})).capabilities.persistent);
}

TEST_F(Durable, WhatIsOwedIsTriedOnceMoreAtTheEnd) {
  {
    Box box(memory);
    const auto rule = box.enable();
    box.store.fails = true;
    EXPECT_FALSE(box.refused(PlcRequest{rule, Lifetime{0}}));
    EXPECT_EQ(memory.entries.size(), 1U);
    box.store.fails = false;
  }
  EXPECT_TRUE(memory.entries.empty());
}

TEST_F(Durable, ARuleThatCannotBeHadAgainIsForgotten) {
  {
    Box box(memory);
    box.enable();
  }
  {
    // A firewall's rule means nothing to a NAT.
    middlebox::ServerOptions nat;
    nat.nat.mode = policy::Mode::kTraditionalNat;
    nat.nat.outside = {{*parse_address("192.0.2.1"), 1}};
    auto copy = memory;
    Box box(copy, nat);
    EXPECT_TRUE(box.list().empty());
  }
  Box box(memory, {}, true);
  EXPECT_TRUE(box.list().empty());
  box.backend.refuses = false;
  box.enable();
  EXPECT_EQ(memory.entries.size(), 1U);
}

TEST_F(Durable, DamageIsNotTakenForRules) {
  {
    Box box(memory);
    box.enable();
  }
  auto& octets = memory.entries.begin()->second;
  octets.pop_back();
  EXPECT_THROW(Box{memory}, store::StoreError);
  octets[0] = 9;
  EXPECT_THROW(Box{memory}, store::StoreError);
}

TEST(RuleCodec, EveryRuleComesBackAndNoPrefixDoes) {
  const Instant now{std::chrono::hours(7)};
  constexpr std::int64_t kWallMs = 0x0000'0193'1234'5678;
  rule::RuleRecord rule;
  rule.expires_at = now + std::chrono::milliseconds(76'001);
  rule.pid = PolicyRuleId{9};
  rule.group = GroupId{4};
  rule.owner_name = "agent \xC3\xA9";
  rule.any_version = true;
  rule.creating_tid = TransactionId{0xFFFF'FFFE};
  rule.parameters = {PortParity::kSame, Direction::kOutbound};
  rule.internal = pinhole().internal;
  rule.external = pinhole().external;
  rule.outside = pinhole().internal;
  const auto octets = middlebox::encode_rule(rule, now, kWallMs);
  const auto read = middlebox::decode_rule(rule.pid, octets);
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->rule.owner_name, rule.owner_name);
  EXPECT_TRUE(read->rule.any_version);
  EXPECT_EQ(read->rule.creating_tid, rule.creating_tid);
  EXPECT_EQ(read->rule.parameters, rule.parameters);
  EXPECT_EQ(read->rule.outside, rule.outside);
  EXPECT_EQ(read->rule.inside, std::nullopt);
  EXPECT_EQ(read->ends_at_ms, kWallMs + 76'001);
  EXPECT_EQ(read->left, Lifetime{77});
  for (std::size_t size = 0; size < octets.size(); ++size) {
    EXPECT_FALSE(middlebox::decode_rule(rule.pid, octets.substr(0, size))) << size;
  }
  EXPECT_FALSE(middlebox::decode_rule(rule.pid, octets + "x"));
  // Version 1: no flags after the kind, and a second name after the owner's.
  const std::size_t owner_end = 27 + 1 + rule.owner_name.size();
  std::string old = octets.substr(0, 2) + octets.substr(3, owner_end - 3) +
                    "\x05"
                    "group";
  old += octets.substr(owner_end);
  old[0] = 1;
  const auto old_rule = middlebox::decode_rule(rule.pid, old);
  ASSERT_TRUE(old_rule) << old_rule.error();
  EXPECT_EQ(old_rule->rule.owner_name, rule.owner_name);
  EXPECT_EQ(old_rule->rule.internal, rule.internal);
  EXPECT_FALSE(old_rule->rule.any_version);
  rule.binding_ages = {5, std::uint64_t{1} << 40};
  const auto bound = middlebox::decode_rule(rule.pid, middlebox::encode_rule(rule, now, kWallMs));
  ASSERT_TRUE(bound) << bound.error();
  EXPECT_EQ(bound->rule.binding_ages, rule.binding_ages);
}

}  // namespace
}  // namespace simco::test
