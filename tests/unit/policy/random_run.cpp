#include "tests/unit/policy/random_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace simco::policy {

using test::Model;

namespace {

test::PipelineFixture::Options options_of_run(Mode mode, unsigned seed) {
  test::PipelineFixture::Options result;
  result.rules_max = Model::kRulesMax;
  result.nat = Model::nat_options(mode);
  result.directory = Model::directory();
  // Too little for any: disable rules look at all rules for what they hit.
  if (seed % 2 == 1) result.disable_scan_max = 1;
  return result;
}

}  // namespace

RandomRun::RandomRun(Mode mode, unsigned seed)
    : random_(seed), box_(options_of_run(mode, seed)), model_(mode) {
  for (const char* name : {"a", "b", "boss", "viewer"}) agents_[name] = &box_.agent(name);
}

void RandomRun::step() {
  static const std::vector<std::string> names = {"a", "b", "boss", "viewer"};
  who_ = names[below(4)];
  for (const auto& [name, each] : agents_) {
    each->events.clear();
    each->replies.clear();
  }
  happened_.clear();
  if (below(40) == 0) {
    pass_time();
    return expect_events();
  }
  std::vector<Body> burst;
  for (std::uint32_t left = below(3) == 0 ? 1 + below(12) : 1; left > 0; --left) {
    burst.push_back(generator_.request());
  }
  send(burst);
  std::size_t refused = 0;
  for (const auto& request : burst) {
    const auto& reply = agents_.at(who_)->replies[next_tid_++];
    ++outcomes[name_of(type_of(reply))];
    refused_ = false;
    check(request, reply);
    if (refused_) ++refused;
  }
  EXPECT_EQ(refused, box_.backend.refused);
  EXPECT_EQ(box_.engine.rule_count(), model_.rules.size());
  expect_events();
}

void RandomRun::send(const std::vector<Body>& burst) {
  auto& agent = *agents_.at(who_);
  const bool has_pdr = std::ranges::any_of(
      burst, [](const auto& request) { return std::holds_alternative<PdrRequest>(request); });
  const bool refuses = below(12) == 0;
  box_.backend.automatic = false;
  box_.backend.refused = 0;
  const auto finish = [&] {
    std::vector<rule::ChangeResult> results;
    for (const auto& change : box_.backend.batches.back()) {
      // A rule that a disable rule could not end would be tried again for ever.
      const bool may_refuse = change.kind != rule::RuleChange::Kind::kRemove || !has_pdr;
      const bool refuse = refuses && may_refuse && below(2) == 0;
      results.push_back(refuse ? rule::ChangeResult::kRefused : rule::ChangeResult::kDone);
    }
    box_.backend.finish(results);
  };
  for (const auto& request : burst) {
    next_tid_ = box_.submit(agent, request);
    if (below(2) == 0) box_.commit.dispatch();
    if (box_.backend.busy() && below(4) == 0) finish();
  }
  box_.commit.dispatch();
  while (!box_.commit.idle()) {
    if (box_.backend.busy()) {
      finish();
    } else {
      box_.advance({});  // more rules that a disable rule ends
    }
  }
  next_tid_ = next_tid_ + 1 - static_cast<std::uint32_t>(burst.size());
  EXPECT_EQ(agent.replies.size(), burst.size());
}

void RandomRun::pass_time() {
  box_.backend.automatic = true;
  // Whole ticks, so that what is due has ended.
  box_.advance(std::chrono::milliseconds(100 * (1 + below(60))));
  std::erase_if(model_.rules, [&](const auto& entry) {
    const bool ends = entry.second.expires_at <= box_.now();
    if (ends) happened_.push_back({entry.first, 0, entry.second.owner, false});
    return ends;
  });
}

}  // namespace simco::policy
