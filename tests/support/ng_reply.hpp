// What a proxy does when simco-ng has waited for the middlebox, or the media proxy, in vain.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/patience.hpp"

namespace simco::test {

/// Returns the reply of `ask()`, which makes a request each time: the first that does not say that
/// the middlebox, or the media proxy, is late, as both may be on a slow machine.
template <class Ask>
nlohmann::json reply_in_time(Ask ask) {
  nlohmann::json reply;
  EXPECT_TRUE(eventually([&] {
    reply = ask();
    const auto why = reply.value("error-reason", std::string());
    return !why.ends_with("does not reply") && !why.ends_with("have no reply yet");
  })) << reply;
  return reply;
}

}  // namespace simco::test
