// Figure 42: each state of a rule with each request.
#include <gtest/gtest.h>

#include <functional>

#include "tests/unit/policy/requests.hpp"

namespace simco::policy {
namespace {

using namespace std::chrono_literals;
using enum NegativeReplyCode;
using test::pinhole;
using test::PipelineFixture;
using test::refusal;

enum class State { kUnused, kReserved, kEnabled, kDisableRule };

/// A middlebox whose agent has a rule in `state`, and another one for company.
struct InState {
  PipelineFixture box;
  PipelineFixture::Agent& agent = box.agent("a");
  PolicyRuleId pid{77};

  explicit InState(State state) {
    if (state == State::kReserved) pid = std::get<PrrReply>(box.ask(agent, reservation())).pid;
    if (state == State::kEnabled) pid = std::get<PerReply>(box.ask(agent, pinhole(7000))).pid;
    if (state == State::kDisableRule) {
      pid = std::get<PdrReply>(box.ask(agent, block(kProtocolTcp))).pid;
    }
  }
  State state() {
    const auto status = box.ask(agent, PrsRequest{pid});
    if (is<PrsReply>(status)) return State::kReserved;
    if (is<PesReply>(status)) return State::kEnabled;
    if (is<PdsReply>(status)) return State::kDisableRule;
    EXPECT_EQ(refusal(status), kNoSuchRule);
    return State::kUnused;
  }
};

TEST(Figure42, EachStateWithEachRequest) {
  constexpr State kStates[] = {State::kUnused, State::kReserved, State::kEnabled,
                               State::kDisableRule};
  for (const auto state : kStates) {
    const bool used = state != State::kUnused;
    struct Case {
      const char* name;
      std::function<Body(PolicyRuleId)> request;
      std::string reply;
      State then;
    };
    const auto negative = [](NegativeReplyCode code) { return std::string(to_string(code)); };
    const std::string missing = negative(kNoSuchRule);
    const std::string status = state == State::kReserved  ? "PRS reply"
                               : state == State::kEnabled ? "PES reply"
                                                          : "PDS reply";
    const std::string pea = state == State::kReserved ? "PER reply"
                            : used                    ? negative(kInconsistentRequest)
                                                      : missing;
    const Case cases[] = {
        {"PRR", [](PolicyRuleId) { return reservation(); }, "PRR reply", state},
        {"PER", [](PolicyRuleId) { return pinhole(); }, "PER reply", state},
        {"PEA", [](PolicyRuleId pid) { return after(pid); }, pea,
         state == State::kReserved ? State::kEnabled : state},
        {"PDR", [](PolicyRuleId) { return block(); }, "PDR reply",
         state == State::kEnabled ? State::kUnused : state},
        {"PLC > 0", [](PolicyRuleId pid) { return PlcRequest{pid, {9}}; },
         used ? "PLC reply" : missing, state},
        {"PLC 0", [](PolicyRuleId pid) { return PlcRequest{pid, {0}}; },
         used ? "PRD reply" : missing, State::kUnused},
        {"PRS", [](PolicyRuleId pid) { return PrsRequest{pid}; }, used ? status : missing, state},
        {"PRL", [](PolicyRuleId) { return PrlRequest{}; }, "PRL reply", state},
    };
    for (const auto& [name, request, reply, then] : cases) {
      SCOPED_TRACE(std::string(name) + " in state " + std::to_string(static_cast<int>(state)));
      InState here(state);
      const auto got = here.box.ask(here.agent, request(here.pid));
      const auto refused = refusal(got);
      EXPECT_EQ(refused ? negative(*refused) : name_of(type_of(got)), reply);
      EXPECT_EQ(here.state(), then);
    }
    // And each ends with its lifetime: ARE(lt=0).
    InState here(state);
    here.box.advance(61s);
    EXPECT_EQ(here.state(), State::kUnused);
  }
}

}  // namespace
}  // namespace simco::policy
