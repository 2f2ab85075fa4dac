#include "simco/metrics/registry.hpp"

#include <gtest/gtest.h>

#include <array>

namespace simco::metrics {
namespace {

// Prometheus: exposition formats, "Text format details".
TEST(MetricsRegistry, WritesTheExpositionFormat) {
  Registry registry;
  auto& first = registry.counter("b_total", "Some.", {{"x", "1"}, {"y", "2"}});
  registry.gauge("a", "A level.") = -0.5;
  registry.counter("b_total", "Some.", {{"x", "2"}, {"y", "2"}}) += 4e12;
  first += 2;
  EXPECT_EQ(registry.text(),
            "# HELP a A level.\n# TYPE a gauge\na -0.5\n"
            "# HELP b_total Some.\n# TYPE b_total counter\n"
            "b_total{x=\"1\",y=\"2\"} 2\nb_total{x=\"2\",y=\"2\"} 4000000000000\n");
}

TEST(MetricsRegistry, BucketsOfAHistogramCountWhatIsUpToTheirBound) {
  constexpr std::array kBounds = {1e-6, 0.5, 2.0};
  Registry registry;
  auto& histogram = registry.histogram("h", "Times.", kBounds, {{"phase", "p"}});
  registry.histogram("h", "Times.", kBounds, {{"phase", "none"}});
  histogram.observe(0.5);
  histogram.observe(1, 2);
  histogram.observe(3);
  EXPECT_EQ(registry.text(),
            "# HELP h Times.\n# TYPE h histogram\n"
            "h_bucket{phase=\"p\",le=\"1e-06\"} 0\nh_bucket{phase=\"p\",le=\"0.5\"} 1\n"
            "h_bucket{phase=\"p\",le=\"2\"} 3\nh_bucket{phase=\"p\",le=\"+Inf\"} 4\n"
            "h_sum{phase=\"p\"} 5.5\nh_count{phase=\"p\"} 4\n"
            "h_bucket{phase=\"none\",le=\"1e-06\"} 0\nh_bucket{phase=\"none\",le=\"0.5\"} 0\n"
            "h_bucket{phase=\"none\",le=\"2\"} 0\nh_bucket{phase=\"none\",le=\"+Inf\"} 0\n"
            "h_sum{phase=\"none\"} 0\nh_count{phase=\"none\"} 0\n");
}

}  // namespace
}  // namespace simco::metrics
