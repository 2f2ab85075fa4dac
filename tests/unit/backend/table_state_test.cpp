// When the kernel's table counts as the one that we left there.
#include "middlebox/backend/nftables/table_state.hpp"

#include <gtest/gtest.h>

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

// What is not known, because others were faster, is not what they have left: nothing.
TEST(TableState, ATableThatIsNotThereIsNeverOurs) {
  EXPECT_FALSE(TableState().same_frame(TableState()));
  EXPECT_FALSE(TableState().same_table(TableState()));
  EXPECT_FALSE(TableState().same_frame(table(7, {})));
  EXPECT_FALSE(table(7, {}).same_frame(TableState()));
}

}  // namespace
}  // namespace simco::backend::nftables
