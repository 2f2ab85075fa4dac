#include "tests/support/pipeline_fixture.hpp"

#include <algorithm>

namespace simco::test {

// --- The backend ---------------------------------------------------------------------------------

Capabilities ScriptedBackend::capabilities() const {
  Capabilities result;
  result.packet_filter = true;
  result.internal_wildcards = result.external_wildcards = result.port_wildcards = true;
  result.internal_versions = result.external_versions = 3;
  result.lifetime_max_s = 3600;
  return result;
}

std::vector<rule::ChangeResult> ScriptedBackend::begin(std::span<const rule::RuleChange> rules) {
  batches.emplace_back(rules.begin(), rules.end());
  return std::vector(rules.size(), rule::ChangeResult::kDone);
}

void ScriptedBackend::apply(std::span<const rule::RuleChange> batch, Client& client) {
  SIMCO_ASSERT(client_ == nullptr);
  batches.emplace_back(batch.begin(), batch.end());
  client_ = &client;
  if (automatic) finish();
}

void ScriptedBackend::finish(std::vector<rule::ChangeResult> results) {
  results.resize(batches.back().size(), rule::ChangeResult::kDone);
  refused += results.size() -
             static_cast<std::size_t>(std::ranges::count(results, rule::ChangeResult::kDone));
  std::exchange(client_, nullptr)->on_applied(results);
}

// --- Engine and pipeline
// -------------------------------------------------------------------------------

PipelineFixture::Agent::Agent(PipelineFixture& fixture, const std::string& name)
    : fixture_(fixture), id_(fixture.engine.acquire(name)) {}

void PipelineFixture::Agent::reply(TransactionId tid, const Body& body) {
  fixture_.storage_.push_back(encoded({tid, body}));
  replies[tid.value] = decode(fixture_.storage_.back())->body;
  if (fixture_.on_reply) fixture_.on_reply(*this, tid, replies[tid.value]);
}

PipelineFixture::PipelineFixture(Options options)
    : directory(std::move(options.directory)),
      engine({backend.capabilities(), policy::all_protocols(), options.nat, options.rules_max,
              policy::kElementsMaxDefault, options.disable_scan_max}),
      pipeline(engine, options.journal, backend, *this, options.metrics),
      now_(options.now) {
  engine.apply(directory);
}

PipelineFixture::Agent& PipelineFixture::agent(const std::string& name) {
  policy::AgentPolicy anything;
  anything.name = name;
  directory.add(std::move(anything));
  engine.apply(directory);
  agents_.push_back(std::make_unique<Agent>(*this, name));
  return *agents_.back();
}

void PipelineFixture::Commit::dispatch() {
  fixture.advancing_ = true;
  while (fixture.pipeline.advance(fixture.now_)) {
  }
  fixture.advancing_ = false;
}

std::uint32_t PipelineFixture::submit(Agent& agent, const Body& request) {
  pipeline.submit(agent, {++tid_}, request, now_);
  return tid_;
}

Body PipelineFixture::ask(Agent& agent, const Body& request) {
  const auto tid = submit(agent, request);
  commit.dispatch();
  SIMCO_ASSERT(agent.replies.contains(tid));
  return agent.replies[tid];
}

void PipelineFixture::advance(Instant::duration time) {
  now_ += time;
  while (pipeline.next_expiry() && *pipeline.next_expiry() <= now_ && !backend.busy()) {
    commit.expire();
    commit.dispatch();
  }
}

void PipelineFixture::on_rule_event(const policy::RuleEvent& event,
                                    const middlebox::Requester* cause) {
  if (on_event) on_event(event);
  for (const auto& agent : agents_) {
    if (agent.get() == cause || !engine.may_see(agent->agent(), event.owner)) continue;
    agent->events.push_back(event);
  }
}

std::size_t PipelineFixture::audience(policy::AgentId owner) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      agents_, [&](const auto& agent) { return engine.may_see(agent->agent(), owner); }));
}

}  // namespace simco::test
