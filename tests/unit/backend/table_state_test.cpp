// When the kernel's table counts as the one that we left there, and by which name it is locked.
#include "middlebox/backend/nftables/table/ruleset.hpp"

#include <gtest/gtest.h>

#include "middlebox/backend/nftables/limits.hpp"
#include "middlebox/backend/nftables/table/table.hpp"

namespace simco::backend::nftables {
namespace {

TableState table(std::uint64_t handle, std::vector<std::uint64_t> rules) {
  TableState state;
  state.exists = true;
  state.handle = handle;
  state.rules = std::move(rules);
  return state;
}

TEST(TableState, ElementsDoNotMatterRulesDo) {
  auto other_sets = table(7, {1, 2});
  other_sets.sets = {"enable4"};
  EXPECT_TRUE(table(7, {1, 2}).same_frame(other_sets));
  EXPECT_FALSE(table(7, {1, 2}).same_frame(table(7, {1, 2, 3})));
  EXPECT_FALSE(table(7, {1, 2}).same_frame(table(8, {1, 2})));
  EXPECT_TRUE(table(7, {1, 2}).same_table(table(7, {})));
}

// An unknown state, because others were faster, differs from an empty table that they have left.
TEST(TableState, ATableThatIsNotThereIsNeverOurs) {
  EXPECT_FALSE(TableState().same_frame(TableState()));
  EXPECT_FALSE(TableState().same_table(TableState()));
  EXPECT_FALSE(TableState().same_frame(table(7, {})));
  EXPECT_FALSE(table(7, {}).same_frame(TableState()));
}

TEST(TableLock, LongNamesHaveLocksOfTheirOwn) {
  EXPECT_EQ(lock_name("simco"), "simco-middlebox/simco") << "what older versions take as well";
  const std::string common(200, 'x');
  EXPECT_NE(lock_name(common + "a"), lock_name(common + "b"));
  EXPECT_NE(lock_name(common), lock_name(common + "x"));
  for (std::size_t size = 1; size < 256; ++size) {
    EXPECT_LE(lock_name(std::string(size, 'x')).size(), kLockNameOctets);
  }
}

}  // namespace
}  // namespace simco::backend::nftables
