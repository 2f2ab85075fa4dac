// The start of test programs whose tests make network namespaces.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/support/network.hpp"

int main(int argc, char** argv) {
  const bool able = simco::test::become_able_to_make_namespaces();
  testing::InitGoogleTest(&argc, argv);
  if (!able) std::fprintf(stderr, "no network namespace can be made here: these tests will fail\n");
  return RUN_ALL_TESTS();
}
