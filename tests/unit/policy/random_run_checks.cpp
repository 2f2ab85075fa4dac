// What the model says of replies and events.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/unit/policy/random_run.hpp"

namespace simco::policy {

using enum NegativeReplyCode;
using test::Given;
using test::refusal;

void RandomRun::check(const Body& request, const Body& reply) {
  const auto verdict = model_.decide(who_, request, box_.now());
  refused_ = verdict.granted() && refusal(reply) == kConfigurationFailed;
  if (refused_) return;
  EXPECT_TRUE(verdict.agrees_with(reply))
      << name_of(type_of(request)) << ": "
      << static_cast<int>(refusal(reply).value_or(kBadlyFormedRequest)) << " instead of "
      << static_cast<int>(verdict.refusal.value_or(kBadlyFormedRequest));
  if (refusal(reply) || !verdict.granted()) return;
  check_read(request, reply);
  check_granted(request, reply);
}

void RandomRun::check_read(const Body& request, const Body& reply) {
  if (const auto* status = std::get_if<PrsRequest>(&request)) {
    EXPECT_EQ(reply, model_.status_of(status->pid.value, box_.now()));
  } else if (std::holds_alternative<PrlRequest>(request)) {
    std::set<std::uint32_t> listed;
    for (const auto pid : std::get<PrlReply>(reply).pids) {
      EXPECT_TRUE(listed.insert(pid.value).second);
    }
    EXPECT_EQ(listed, model_.visible_to(who_));
  }
}

Given RandomRun::given_by(const Body& request, const Body& reply) const {
  const auto from = [&](const auto& positive) {
    return Given{positive.pid.value, positive.group.value,
                 box_.now() + std::chrono::seconds(positive.lifetime.seconds), positive.outside,
                 positive.inside};
  };
  const auto until = [&](Lifetime lifetime) {
    return box_.now() + std::chrono::seconds(lifetime.seconds);
  };
  if (const auto* per = std::get_if<PerReply>(&reply)) return from(*per);
  if (const auto* prr = std::get_if<PrrReply>(&reply)) return from(*prr);
  Given given;
  if (const auto* pdr = std::get_if<PdrReply>(&reply)) {
    given.pid = pdr->pid.value;
    given.expires_at = until(pdr->lifetime);
  } else if (const auto* plc = std::get_if<PlcReply>(&reply)) {
    given.pid = std::get<PlcRequest>(request).pid.value;
    given.expires_at = until(plc->lifetime);
  } else {
    given.pid = std::get<PlcRequest>(request).pid.value;
  }
  return given;
}

void RandomRun::check_granted(const Body& request, const Body& reply) {
  if (std::holds_alternative<PrsRequest>(request) || std::holds_alternative<PrlRequest>(request)) {
    return;
  }
  const Given given = given_by(request, reply);
  EXPECT_EQ(model_.fault_in(who_, request, given), std::nullopt) << name_of(type_of(request));
  const auto* per = std::get_if<PerRequest>(&request);
  if (per != nullptr && model_.translates() && model_.shares_a_binding(who_, *per)) ++shared;
  const auto heard = happened_.size();
  model_.carry_out(who_, request, given, happened_);
  const auto rules = model_.rules.size();
  model_.end_disabled_rules(happened_);
  ended += rules - model_.rules.size();
  ASSERT_GT(happened_.size(), heard);
  EXPECT_EQ(reply, model_.reply_to(request, given.pid, {happened_[heard].lifetime}));
}

void RandomRun::expect_events() {
  for (const auto& [name, agent] : agents_) {
    std::multiset<std::pair<std::uint32_t, std::uint32_t>> wanted;
    for (const auto& news : happened_) {
      const bool hears = test::Model::sees(name, news.owner) && !(news.asked_for && name == who_);
      if (hears) wanted.emplace(news.pid, news.lifetime);
    }
    std::multiset<std::pair<std::uint32_t, std::uint32_t>> heard;
    for (const auto& event : agent->events) {
      heard.emplace(event.pid.value, event.lifetime.seconds);
    }
    EXPECT_EQ(heard, wanted) << name;
  }
}

}  // namespace simco::policy
