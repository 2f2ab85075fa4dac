// The view of simcoctl top of a middlebox's metrics.
#include "agent/simcoctl/top.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace simco::ctl {
namespace {

TEST(Exposition, IsRead) {
  const Exposition text(
      "# HELP a Something.\n# TYPE a gauge\na 3\n"
      "b{x=\"1\",y=\"two \\\"words\\\", a \\\\ and a \\n\"} 2.5e3\nb{x=\"2\"} +Inf\n"
      "nonsense\nc{x=\"1 4\nd{} 7\n\ne nothing\nlast 9");
  EXPECT_EQ(text.sum("a"), 3);
  EXPECT_EQ(text.sum("b", {{"x", "1"}}), 2500);
  EXPECT_EQ(text.all("b").front().label("y"), "two \"words\", a \\ and a \n");
  EXPECT_EQ(text.sum("d"), 7);
  EXPECT_EQ(text.sum("last"), 9);
  EXPECT_FALSE(text.has("c"));
  EXPECT_FALSE(text.has("e"));
  EXPECT_EQ(text.sum("missing"), 0);
}

std::string histogram(int to_1, int to_2, int to_4, int all, double sum) {
  const auto line = [](const std::string& name, const std::string& le, double value) {
    return name + "{phase=\"kernel\"" + (le.empty() ? "" : ",le=\"" + le + "\"") + "} " +
           std::to_string(value) + "\n";
  };
  const std::string name = "simco_transaction_seconds";
  return line(name + "_bucket", "0.001", to_1) + line(name + "_bucket", "0.002", to_2) +
         line(name + "_bucket", "0.004", to_4) + line(name + "_bucket", "+Inf", all) +
         line(name + "_count", "", all) + line(name + "_sum", "", sum);
}

TEST(Distribution, CountsWhatCameBetween) {
  const Exposition before(histogram(50, 50, 50, 50, 0.01));
  const Exposition now(histogram(50, 90, 150, 150, 0.31));
  const Distribution times(before, now, "simco_transaction_seconds", {{"phase", "kernel"}});
  EXPECT_EQ(times.count(), 100);
  EXPECT_NEAR(times.mean(), 0.003, 1e-9);
  EXPECT_NEAR(times.quantile(0.2), 0.0015, 1e-9);  // 20 of the 40 between 1 and 2 ms
  EXPECT_NEAR(times.quantile(0.7), 0.003, 1e-9);   // 30 of the 60 between 2 and 4 ms
  const Distribution beyond(before, Exposition(histogram(50, 50, 50, 60, 1)),
                            "simco_transaction_seconds", {{"phase", "kernel"}});
  EXPECT_EQ(beyond.quantile(0.5), 0.004);  // larger than any bound: no guess
  const Distribution nothing(now, now, "simco_transaction_seconds", {{"phase", "kernel"}});
  EXPECT_EQ(nothing.count(), 0);
  EXPECT_EQ(nothing.mean(), 0);
}

TEST(View, ComparesTwoReadings) {
  const std::string frame =
      "simco_build_info{version=\"1.2.3\"} 1\nsimco_sessions 2\nsimco_connections 3\nsimco_groups "
      "4\nsimco_rules{state=\"enabled\"} 5\nsimco_rules{state=\"reserved\"} 6\n"
      "simco_pool_addresses{pool=\"outside\",ip=\"4\"} 8\n"
      "simco_pool_addresses{pool=\"outside\",ip=\"6\"} 0\n"
      "simco_pool_addresses_in_use{pool=\"outside\",ip=\"4\"} 7\n"
      "simco_pool_ports_in_use{pool=\"outside\",ip=\"4\"} 99\n";
  const std::string per = "simco_transactions_total{type=\"PER\",reply=";
  const Exposition before(frame + per + "\"ok\"} 100\n");
  const Exposition now(frame + per + "\"ok\"} 180\n" + per + "\"0x0349\"} 20\n" +
                       "simco_expirations_total 4\n" + histogram(10, 10, 10, 10, 0.005));
  const auto view = compare(before, now, 2);
  EXPECT_EQ(view.at("version"), "1.2.3");
  EXPECT_EQ(view.at("sessions"), 2);
  EXPECT_EQ(view.at("rules").at("enabled"), 5);
  EXPECT_EQ(view.at("expired_per_s"), 2);
  EXPECT_EQ(view.at("transactions").at("PER").dump(), R"({"per_s":50.0,"refused_per_s":10.0})");
  EXPECT_EQ(view.at("refusals").dump(), R"({"0x0349":{"per_s":10.0,"total":20.0}})");
  ASSERT_EQ(view.at("phases").size(), 1U);
  EXPECT_EQ(view.at("phases").at("kernel").at("mean_ms"), 0.5);
  ASSERT_EQ(view.at("pools").size(), 1U);
  EXPECT_EQ(view.at("pools").at("outside IPv4").at("ports_in_use"), 99);
  const auto text = to_text(view);
  EXPECT_TRUE(text.contains("PER                   50.0          10.0")) << text;
  EXPECT_TRUE(text.contains("kernel            500.0 us")) << text;
  EXPECT_TRUE(text.contains("outside IPv4             8             7            99")) << text;
}

}  // namespace
}  // namespace simco::ctl
