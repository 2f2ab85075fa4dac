// The treatment of the kernel's errors, and of the contents of its sets.
#include <gtest/gtest.h>

#include <cerrno>

#include "middlebox/backend/match/key_layout.hpp"
#include "middlebox/backend/nftables/elements/element_planner.hpp"
#include "middlebox/backend/nftables/error_attribution.hpp"
#include "middlebox/backend/nftables/limits.hpp"

namespace simco::backend::nftables {
namespace {

using match::Mask;

const Instant kNow{std::chrono::hours(1)};
const Instant kLater = kNow + std::chrono::minutes(1);

// --- Errors --------------------------------------------------------------------------------------

ChangeMessage addition(std::uint32_t sequence, std::uint32_t change) {
  return {sequence, change, false, Instant::max(), false};
}
ChangeMessage removal(std::uint32_t sequence, std::uint32_t change, Instant expires_at) {
  return {sequence, change, true, expires_at, false};
}

TEST(Attribution, AMessageNamesItsChange) {
  const std::vector messages = {addition(7, 0), addition(8, 1), addition(9, 1), addition(10, 2)};
  const std::vector<MessageError> errors = {{9, EEXIST}, {10, ENOSPC}};
  const auto found = attribute_errors(errors, messages, kNow);
  ASSERT_EQ(found.refused.size(), 2U);
  EXPECT_EQ(found.refused[0].change, 1U);
  EXPECT_EQ(result_for(found.refused[0].error), rule::ChangeResult::kRefused);
  EXPECT_EQ(found.refused[1].change, 2U);
  EXPECT_EQ(result_for(found.refused[1].error), rule::ChangeResult::kNoResources);
  EXPECT_TRUE(found.uncertain.empty());
  EXPECT_FALSE(found.foreign_removal);
}

TEST(Attribution, AChangeIsRefusedForItsFirstError) {
  const std::vector messages = {addition(7, 3), addition(8, 3)};
  const std::vector<MessageError> errors = {{7, ENOMEM}, {8, EEXIST}};
  const auto found = attribute_errors(errors, messages, kNow);
  ASSERT_EQ(found.refused.size(), 1U);
  EXPECT_EQ(found.refused[0].error, ENOMEM);
}

TEST(Attribution, ErrorsOfNoChangeSayNothing) {
  const std::vector messages = {addition(7, 0)};
  const std::vector<MessageError> errors = {{0, ENOBUFS}, {99, EINVAL}};
  EXPECT_FALSE(attribute_errors(errors, messages, kNow).any());
  EXPECT_FALSE(attribute_errors({}, messages, kNow).any());
}

TEST(Attribution, AnElementThatHadTimeLeftWasRemovedBySomebodyElse) {
  const std::vector messages = {removal(7, 4, kLater)};
  const std::vector<MessageError> errors = {{7, ENOENT}};
  const auto found = attribute_errors(errors, messages, kNow);
  EXPECT_EQ(found.uncertain, std::vector<std::uint32_t>{4});
  EXPECT_TRUE(found.refused.empty());
  EXPECT_TRUE(found.foreign_removal);
}

// A rule's short lifetime may end between the plan and the kernel's look at it.
TEST(Attribution, AnElementThatHasEndedByItselfRaisesNoAlarm) {
  for (const auto expires_at : {kNow - std::chrono::seconds(1), kNow, kNow + kKernelTick}) {
    const std::vector messages = {removal(7, 4, expires_at)};
    const std::vector<MessageError> errors = {{7, ENOENT}};
    const auto found = attribute_errors(errors, messages, kNow);
    EXPECT_EQ(found.uncertain, std::vector<std::uint32_t>{4});
    EXPECT_FALSE(found.foreign_removal);
  }
}

TEST(Attribution, ARemovalThatFailsAlthoughItWasMadeSureIsRefused) {
  auto again = removal(7, 4, kLater);
  again.uncertain = true;
  const std::vector messages = {again};
  const std::vector<MessageError> errors = {{7, ENOENT}};
  EXPECT_EQ(attribute_errors(errors, messages, kNow).refused.size(), 1U);
}

// --- Retries -------------------------------------------------------------------------------------

using Step = RetryRule::Step;

TEST(RetryRule, AfterManyStaleCommitsBuildsOnAny) {
  RetryRule rule;
  for (int i = 1; i < kStaleMax; ++i)
    EXPECT_EQ(rule.after(Outcome::kStale, false), Step::kReconcile);
  EXPECT_EQ(rule.after(Outcome::kStale, false), Step::kBuildOnAny);
  EXPECT_EQ(rule.after(Outcome::kStale, false), Step::kBuildOnAny);
}

TEST(RetryRule, WhatFailedOnAnyGenerationMayHaveLostItsTable) {
  RetryRule rule;
  EXPECT_EQ(rule.after(Outcome::kFailed, true), Step::kReconcile);
  EXPECT_EQ(rule.after(Outcome::kFailed, true), Step::kAttributeErrors) << "it was looked at";
  EXPECT_EQ(rule.after(Outcome::kStale, false), Step::kBuildOnAny) << "so there is an end to it";
  EXPECT_EQ(RetryRule().after(Outcome::kFailed, false), Step::kAttributeErrors);
}

// --- Drift ---------------------------------------------------------------------------------------

class DriftTest : public testing::Test {
 protected:
  static Mask mask_of(bool intervals) {
    Mask mask;
    mask.intervals = intervals;
    if (intervals) return mask;
    mask.internal_bits = mask.external_bits = 32;
    mask.internal_port_bits = mask.external_port_bits = 16;
    return mask;
  }
  static Key key(std::uint16_t port) {
    Key key;
    key.internal_port = port;
    key.internal_last = static_cast<std::uint16_t>(port + 9);
    return key;
  }
  static std::string octets(const Mask& mask, const Key& key, bool end = false) {
    const auto laid_out = match::key_octets(mask, key, end);
    return {reinterpret_cast<const char*>(laid_out.octets.data()), laid_out.size};
  }
  static void hold(ElementStore& store, std::uint16_t port, Instant expires_at) {
    store.hold(key(port), {PolicyRuleId{port}, {}, expires_at});
  }

  ElementStore store_{mask_of(false)};
  const Mask mask_ = store_.mask();
};

TEST_F(DriftTest, WhatIsAsItShouldBeIsLeftAlone) {
  hold(store_, 1, kLater);
  const auto drift = compare(store_, {octets(mask_, key(1))}, {}, kNow);
  EXPECT_TRUE(drift.missing.empty());
  EXPECT_TRUE(drift.foreign.empty());
}

TEST_F(DriftTest, FindsWhatIsMissingAndWhatIsForeign) {
  hold(store_, 1, kLater);
  hold(store_, 2, kLater);
  const auto drift = compare(store_, {octets(mask_, key(1)), octets(mask_, key(3))}, {}, kNow);
  ASSERT_EQ(drift.missing.size(), 1U);
  EXPECT_EQ(drift.missing[0].key, key(2));
  EXPECT_TRUE(drift.missing[0].before.empty()) << "to be added";
  EXPECT_EQ(last_end(drift.missing[0].after), kLater);
  ASSERT_EQ(drift.foreign.size(), 1U);
  EXPECT_EQ(drift.foreign[0].key, octets(mask_, key(3)));
  EXPECT_EQ(drift.foreign[0].end, "");
}

// The kernel ends elements by itself, some of them before we ask for it.
TEST_F(DriftTest, WhatEndsByItselfIsNotMissing) {
  hold(store_, 1, kNow - std::chrono::seconds(1));
  hold(store_, 2, kNow + kKernelTick);
  hold(store_, 3, kNow + 2 * kKernelTick);
  const auto drift = compare(store_, {}, {}, kNow);
  ASSERT_EQ(drift.missing.size(), 1U);
  EXPECT_EQ(drift.missing[0].key, key(3));
}

TEST_F(DriftTest, WhatHasChangedMeanwhileIsNotJudged) {
  hold(store_, 1, kLater);
  const auto drift = compare(store_, {octets(mask_, key(2))}, {key(1), key(2)}, kNow);
  EXPECT_TRUE(drift.missing.empty()) << "added behind the reader's back";
  EXPECT_TRUE(drift.foreign.empty()) << "removed after it was read";
}

TEST_F(DriftTest, IntervalsHaveTwoKeys) {
  ElementStore store(mask_of(true));
  hold(store, 100, kLater);
  const auto both = [&](std::uint16_t port) {
    return octets(store.mask(), key(port)) + octets(store.mask(), key(port), true);
  };
  const auto drift = compare(store, {both(100), both(200)}, {}, kNow);
  EXPECT_TRUE(drift.missing.empty());
  ASSERT_EQ(drift.foreign.size(), 1U);
  EXPECT_EQ(drift.foreign[0].key, octets(store.mask(), key(200)));
  EXPECT_EQ(drift.foreign[0].end, octets(store.mask(), key(200), true));
}

}  // namespace
}  // namespace simco::backend::nftables
