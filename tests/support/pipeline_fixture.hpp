// Policy engine and commit pipeline with a backend that the test answers for, and no sessions: for
// tests of these two, and of classes that need the pipeline alone. Tests of sessions, admission and
// notifications use middlebox::Core, as the simulation and the fuzzer do.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "middlebox/commit/pipeline.hpp"
#include "middlebox/policy/engine.hpp"
#include "tests/support/figures.hpp"
#include "tests/support/octets.hpp"

namespace simco::test {

/// Holds batches until the test gives their results, or answers "done" at once.
class ScriptedBackend final : public backend::Backend {
 public:
  std::string_view name() const override { return "scripted"; }
  Capabilities capabilities() const override;
  std::vector<rule::ChangeResult> begin(std::span<const rule::RuleChange> rules) override;
  void lease(Instant until) override { leases.push_back(until); }
  void apply(std::span<const rule::RuleChange> batch, Client& client) override;
  bool busy() const { return client_ != nullptr; }
  /// Ends the batch; `results` for its first changes, the others are done.
  void finish(std::vector<rule::ChangeResult> results = {});

  bool automatic = true;
  std::size_t refused = 0;  ///< changes
  std::vector<std::vector<rule::RuleChange>> batches;
  std::vector<Instant> leases;

 private:
  Client* client_ = nullptr;
};

class PipelineFixture : private middlebox::CommitPipeline::Observer {
 public:
  class Agent final : public middlebox::Requester {
   public:
    Agent(PipelineFixture& fixture, const std::string& name);
    policy::AgentId agent() const override { return id_; }
    std::string_view agent_name() const override { return fixture_.engine.name(id_); }
    std::string_view peer() const override { return "192.0.2.9"; }
    std::uint32_t lifetime_max_s() const override { return told_lifetime_max_s; }
    void reply(TransactionId tid, const Body& body) override;
    void notify(const policy::RuleEvent& event) override { events.push_back(event); }

    bool output_full() const override { return full; }

    std::uint32_t told_lifetime_max_s = 0xFFFF'FFFF;
    bool full = false;
    std::map<std::uint32_t, Body> replies;
    std::vector<policy::RuleEvent> events;

   private:
    PipelineFixture& fixture_;
    policy::AgentId id_;
  };

  struct Options {
    std::uint32_t rules_max = 1000;
    policy::NatTable::Options nat;
    policy::AgentDirectory directory = policy::AgentDirectory::open_to_all();
    middlebox::Metrics* metrics = nullptr;
    std::uint32_t disable_scan_max = policy::kDisableScanMax;
    Instant now{std::chrono::hours(1)};
    middlebox::Journal* journal = nullptr;
  };

  explicit PipelineFixture(std::uint32_t rules_max = 1000)
      : PipelineFixture(Options{rules_max, {}}) {}
  explicit PipelineFixture(Options options);
  virtual ~PipelineFixture() = default;

  /// The agent called `name`; one that the directory does not have may do everything.
  Agent& agent(const std::string& name);
  /// Hands a request in without giving it to the backend; answers its TID.
  std::uint32_t submit(Agent& agent, const Body& request);
  /// A request and its reply, with a backend that answers at once.
  Body ask(Agent& agent, const Body& request);
  void advance(Instant::duration time);
  Instant now() const { return now_; }

  ScriptedBackend backend;
  policy::AgentDirectory directory;
  policy::PolicyEngine engine;
  /// The pipeline at the fixture's time.
  struct Commit {
    PipelineFixture& fixture;
    void dispatch();
    void expire() { fixture.pipeline.expire(fixture.now_); }
    bool idle() const { return fixture.pipeline.idle(); }
  } commit{*this};
  middlebox::CommitPipeline pipeline;
  std::vector<PolicyRuleId> expiry_failures;
  std::string reason;  ///< of the last negative reply
  /// Told of replies and of rule events, in the order in which they happen, if they are there.
  std::function<void(const Agent& agent, TransactionId tid, const Body& reply)> on_reply;
  std::function<void(const policy::RuleEvent& event)> on_event;

 private:
  void on_refused(const middlebox::CommitPipeline::Refusal& refusal) override {
    reason = refusal.request != nullptr
                 ? engine.reason(*refusal.context, *refusal.request, refusal.code)
                 : engine.reason(*refusal.change, refusal.result);
  }
  void on_rule_event(const policy::RuleEvent& event, const middlebox::Requester* cause) override;
  std::size_t audience(policy::AgentId owner) const override;
  void on_expiry_failed(PolicyRuleId pid) override { expiry_failures.push_back(pid); }
  void on_stage_done() override {
    if (!advancing_) commit.dispatch();
  }

  Instant now_;
  std::uint32_t tid_ = 0;
  bool advancing_ = false;
  std::deque<Octets> storage_;
  std::vector<std::unique_ptr<Agent>> agents_;
};

}  // namespace simco::test
