#include "middlebox/observe/metrics.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "middlebox/backend/fastpath/program.hpp"
#include "middlebox/backend/nftables/counters/drop_counters.hpp"
#include "tests/support/pipeline_fixture.hpp"

namespace simco::middlebox {
namespace {

using namespace std::chrono_literals;
using rule::ChangeResult;
using test::pinhole;
using test::PipelineFixture;

struct Counted : testing::Test {
  Metrics metrics;
  PipelineFixture box{
      PipelineFixture::Options{1000, {}, policy::AgentDirectory::open_to_all(), &metrics}};
  PipelineFixture::Agent& agent = box.agent("proxy");

  /// The value of a figure, named with its labels as in the text; nothing where it is not there.
  std::optional<double> value(const std::string& name) const {
    const auto text = "\n" + metrics.text();
    const auto at = text.find("\n" + name + " ");
    if (at == text.npos) return std::nullopt;
    return std::stod(text.substr(at + name.size() + 2));
  }
};

TEST_F(Counted, TransactionsByTypeAndReply) {
  for (std::uint16_t port = 1; port <= 3; ++port) box.ask(agent, pinhole(port));
  box.ask(agent, PlcRequest{PolicyRuleId{1}, Lifetime{0}});
  box.ask(agent, PlcRequest{PolicyRuleId{99}, Lifetime{0}});
  box.ask(agent, PrlRequest{});
  EXPECT_EQ(value(R"(simco_transactions_total{reply="ok",type="PER"})"), 3);
  EXPECT_EQ(value(R"(simco_transactions_total{reply="ok",type="PLC"})"), 1);
  EXPECT_EQ(value(R"(simco_transactions_total{reply="0x0343",type="PLC"})"), 1);
  EXPECT_EQ(value(R"(simco_transactions_total{reply="ok",type="PRL"})"), 1);
  EXPECT_EQ(value(R"(simco_transactions_total{reply="ok",type="PDR"})"), std::nullopt);
}

TEST_F(Counted, RulesByStateAndTheirEnds) {
  box.ask(agent, pinhole(1, 5));
  box.ask(agent, pinhole(2));
  EXPECT_EQ(value(R"(simco_rules{state="enabled"})"), 2);
  box.advance(10s);
  EXPECT_EQ(value(R"(simco_rules{state="enabled"})"), 1);
  EXPECT_EQ(value("simco_expirations_total"), 1);
  box.ask(agent, PlcRequest{PolicyRuleId{2}, Lifetime{0}});
  EXPECT_EQ(value(R"(simco_rules{state="enabled"})"), 0);
  EXPECT_EQ(value("simco_expirations_total"), 1);
  EXPECT_EQ(value(R"(simco_backend_changes_total{result="done"})"), 4);
}

TEST_F(Counted, WhatTheBackendRefusesIsNoRule) {
  box.backend.automatic = false;
  box.submit(agent, pinhole(1));
  box.submit(agent, pinhole(2));
  box.commit.dispatch();
  box.backend.finish({ChangeResult::kRefused, ChangeResult::kDone});
  EXPECT_EQ(value(R"(simco_backend_changes_total{result="refused"})"), 1);
  EXPECT_EQ(value(R"(simco_rules{state="enabled"})"), 1);
  EXPECT_EQ(value(R"(simco_transactions_total{reply="0x034a",type="PER"})"), 1);
  EXPECT_EQ(value("simco_batch_changes_sum"), 2);
  EXPECT_EQ(value("simco_batch_changes_count"), 1);
}

TEST_F(Counted, EveryPhaseOnceForEachTransaction) {
  box.ask(agent, pinhole(1));
  box.ask(agent, PrlRequest{});  // which no backend sees
  metrics.flushed();
  metrics.flushed();
  const auto count = [&](const char* phase) {
    return value(std::string("simco_transaction_seconds_count{phase=\"") + phase + "\"}");
  };
  EXPECT_EQ(count("decide"), 2);
  EXPECT_EQ(count("queue"), 1);
  EXPECT_EQ(count("kernel"), 1);
  EXPECT_EQ(count("reply"), 2);
}

TEST_F(Counted, LevelsAndSessions) {
  policy::NatTable::Usage nat;
  nat.pools[0] = {8, 2, 70'000};
  nat.pools[3] = {1, 1, 5};
  metrics.set({3, 2, 1, true, nat});
  metrics.session_opened();
  metrics.session_refused(NegativeReplyCode::kNoAuthorization);
  metrics.authentication_failed();
  EXPECT_EQ(value("simco_connections"), 3);
  EXPECT_EQ(value("simco_sessions"), 2);
  EXPECT_EQ(value("simco_groups"), 1);
  EXPECT_EQ(value("simco_stands_by"), 1);
  EXPECT_EQ(value(R"(simco_pool_addresses{ip="4",pool="outside"})"), 8);
  EXPECT_EQ(value(R"(simco_pool_addresses_in_use{ip="4",pool="outside"})"), 2);
  EXPECT_EQ(value(R"(simco_pool_ports_in_use{ip="4",pool="outside"})"), 70'000);
  EXPECT_EQ(value(R"(simco_pool_ports_in_use{ip="6",pool="inside"})"), 5);
  EXPECT_EQ(value("simco_sessions_opened_total"), 1);
  EXPECT_EQ(value(R"(simco_sessions_refused_total{code="0x0324"})"), 1);
  EXPECT_EQ(value("simco_authentication_failures_total"), 1);
}

TEST_F(Counted, FiguresOfABackendAreCounters) {
  const auto text = metrics.text({{"a_total", {{"x", "1"}, {"b", "2"}}, 5, "Some."},
                                  {"a_total", {{"x", "2"}, {"b", "2"}}, 0, "Some."},
                                  {"b_total", {}, 4'000'000'000'000, "Others."}});
  EXPECT_TRUE(
      text.ends_with("# HELP a_total Some.\n# TYPE a_total counter\n"
                     "a_total{x=\"1\",b=\"2\"} 5\na_total{x=\"2\",b=\"2\"} 0\n"
                     "# HELP b_total Others.\n# TYPE b_total counter\nb_total 4000000000000\n"))
      << text;
}

TEST_F(Counted, WhatIsDocumentedAndDrawnIsThere) {
  auto figures = backend::nftables::drop_figures({});
  backend::fastpath::add_figures({}, figures);
  metrics.session_refused(NegativeReplyCode::kNoAuthorization);
  box.ask(agent, pinhole(1));
  const auto text = metrics.text(figures);
  for (const char* path : {"/doc/operating.md", "/doc/grafana/simco-middlebox.json",
                           "/doc/prometheus/simco-middlebox.rules.yml"}) {
    std::stringstream page;
    page << std::ifstream(std::string(SIMCO_SOURCE_DIR) + path).rdbuf();
    const std::string words = page.str();
    const std::regex name("simco_(?!agent)[a-z_]+");  // which is a library
    std::size_t names = 0;
    for (std::sregex_iterator one(words.begin(), words.end(), name), end; one != end; ++one) {
      EXPECT_TRUE(text.contains("\n" + one->str())) << path << ": " << one->str();
      ++names;
    }
    EXPECT_GT(names, 8U) << path;
  }
}

}  // namespace
}  // namespace simco::middlebox
