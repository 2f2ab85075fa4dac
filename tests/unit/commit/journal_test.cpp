// A journal whose store has lost all rules, and is asked for more while it writes.
#include "middlebox/commit/journal.hpp"

#include <gtest/gtest.h>

namespace simco::middlebox {
namespace {

using namespace std::chrono_literals;

/// A journal of one rule, which it writes again when the store has lost it.
class Kept final : private Journal::Writer, private Journal::Monitor, private Clock {
 public:
  Kept() { rule_.pid = PolicyRuleId{7}; }

  /// The client's next batch, which changes nothing.
  void keep() {
    journal.keep({}, Journal::State::kAfter, {}, [](const Journal::Failure&) {});
  }
  void finish(std::size_t write, const Journal::Failure& failure = std::nullopt) {
    writes.at(write).done(failure);
  }
  void wait(Instant::duration time) {
    now_ += time;
    journal.on_deadline(now_);
  }

  struct Write {
    store::Batch batch;
    Done done;
  };
  std::vector<Write> writes;
  Journal journal{*this, *this, *this};

 private:
  void write(store::Batch batch, Done done) override {
    writes.push_back({std::move(batch), std::move(done)});
  }
  void on_store_failing(const std::string&) override {}
  void on_store_working() override {}
  void on_store_taken() override {}
  void on_store_lost() override { journal.put_off(rule_); }
  Instant now() const override { return now_; }
  std::int64_t wall_ms() const override { return 0; }

  rule::RuleRecord rule_;
  Instant now_{};
};

const store::StoreFailure kLost{.what = "the rules are gone", .lost = true};

// If it failed, the one behind it would seem to have stored all.
TEST(Journal, OneWriteAtATime) {
  Kept kept;
  kept.journal.write_soon();
  kept.keep();
  kept.wait(1s);
  EXPECT_EQ(kept.writes.size(), 1U);
  kept.finish(0, kLost);
  kept.wait(1s);
  ASSERT_EQ(kept.writes.size(), 2U);
  EXPECT_TRUE(kept.writes[1].batch.all);
  EXPECT_EQ(kept.writes[1].batch.entries.size(), 1U);
  kept.keep();
  EXPECT_EQ(kept.writes.size(), 2U);
  kept.finish(1);
  ASSERT_EQ(kept.writes.size(), 3U);
  EXPECT_FALSE(kept.writes[2].batch.all);
}

// Boxes that stand by have no lease before.
TEST(Journal, AnEmptyWriteThatFailsIsTriedAgain) {
  Kept kept;
  kept.journal.write_soon();
  kept.wait(1s);
  kept.finish(0, store::StoreFailure{.what = "no connection"});
  kept.wait(1s);
  ASSERT_EQ(kept.writes.size(), 2U);
  kept.finish(1);
  kept.wait(1s);
  EXPECT_EQ(kept.writes.size(), 2U);
}

TEST(Journal, AWriteOfAllRulesThatFailsIsOneOfAllRulesAgain) {
  Kept kept;
  kept.keep();
  kept.finish(0, kLost);
  kept.keep();
  kept.finish(1, store::StoreFailure{.what = "no connection"});
  kept.keep();
  ASSERT_EQ(kept.writes.size(), 3U);
  EXPECT_TRUE(kept.writes[2].batch.all);
  EXPECT_EQ(kept.writes[2].batch.entries.size(), 1U);
  kept.finish(2);
  kept.keep();
  EXPECT_FALSE(kept.writes[3].batch.all);
  EXPECT_TRUE(kept.writes[3].batch.entries.empty());
}

}  // namespace
}  // namespace simco::middlebox
