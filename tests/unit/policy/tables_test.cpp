// The containers under the policy engine.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "middlebox/policy/expiry_queue.hpp"
#include "middlebox/policy/id_map.hpp"
#include "middlebox/policy/limits.hpp"

namespace simco::policy {
namespace {

using namespace std::chrono_literals;

TEST(IdMap, AgreesWithStdMapOverARandomRun) {
  IdMap<std::uint32_t> map;
  std::map<std::uint32_t, std::uint32_t> model;
  std::mt19937 random(3);
  for (int i = 0; i < 200'000; ++i) {
    // Mostly neighbours, some from far away.
    const std::uint32_t id = random() % 4 == 0 ? random() : random() % 3000;
    const auto known = model.find(id);
    if (known == model.end()) {
      ASSERT_EQ(map.find(id), nullptr);
      map.insert(id, i);
      model.emplace(id, i);
    } else if (random() % 2 == 0) {
      ASSERT_NE(map.find(id), nullptr);
      ASSERT_EQ(*map.find(id), known->second);
      map.erase(id);
      model.erase(known);
    }
    ASSERT_EQ(map.size(), model.size());
  }
  for (const auto& [id, value] : model) ASSERT_EQ(*map.find(id), value);
}

// With 8-bit ids the numbers start over every few moments. Random lives of rules; sessions are
// young (IdSequence says when one is too old). No session may see an id mean two things.
TEST(IdSequence, NoSessionSeesAnIdTwice) {
  IdSequence<std::uint8_t> ids;
  std::mt19937 random(7);
  std::map<std::uint8_t, std::uint64_t> live;  // id -> position
  struct Session {
    std::uint64_t opened;
    std::map<std::uint8_t, std::uint64_t> seen;
  };
  std::vector<Session> sessions;
  for (int i = 0; i < 50'000; ++i) {
    if (random() % 10 == 0) sessions.push_back({ids.position(), live});
    std::erase_if(sessions, [&](const Session& s) { return !ids.young_enough(s.opened); });
    if (live.size() < 40 && random() % 2 == 0) {
      const auto taken = ids.take([&](std::uint8_t id) { return live.contains(id); });
      ASSERT_NE(taken.id, 0);
      ASSERT_FALSE(live.contains(taken.id));
      live.emplace(taken.id, taken.position);
      for (auto& session : sessions) {
        const auto [known, is_new] = session.seen.emplace(taken.id, taken.position);
        ASSERT_TRUE(is_new) << "id " << int{taken.id} << " meant " << known->second;
      }
    } else if (!live.empty()) {
      // Old rules are as likely to end as young ones, so some live long.
      const auto victim = std::next(live.begin(), static_cast<long>(random() % live.size()));
      ids.give_back(victim->second);
      live.erase(victim);
    }
  }
}

TEST(ExpiryQueue, RulesAreDueInTheirOrderNeverEarlyAndAtMostATickLate) {
  RuleTable rules;
  ExpiryQueue queue(rules);
  std::mt19937 random(5);
  const Instant start(std::chrono::hours(1000));
  std::set<std::uint32_t> waiting;
  for (std::uint32_t pid = 1; pid <= 2000; ++pid) {
    const auto slot = rules.insert({pid});
    rules[slot].expires_at = start + std::chrono::microseconds(random() % 20'000'000);
    queue.add(slot);
    waiting.insert(pid);
  }
  for (std::uint32_t pid = 1; pid <= 2000; pid += 3) {  // some end early
    queue.remove(rules.find({pid}));
    waiting.erase(pid);
  }
  for (Instant now = start; now <= start + 21s; now += 7ms) {
    for (auto slot = queue.due(now); slot != kNoSlot; slot = queue.due(now)) {
      ASSERT_LE(rules[slot].expires_at, now);
      ASSERT_EQ(waiting.erase(rules[slot].pid.value), 1U);
      queue.remove(slot);
    }
    for (const auto pid : waiting)
      ASSERT_GT(rules[rules.find({pid})].expires_at, now - kExpiryTick);
  }
  EXPECT_TRUE(waiting.empty());
  EXPECT_FALSE(queue.next());
}

}  // namespace
}  // namespace simco::policy
