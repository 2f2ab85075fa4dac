// Metrics of a program, and their text for Prometheus (exposition format 0.0.4).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace simco::metrics {

/// Names and values of labels, without quotes, backslashes and line ends. They appear in this
/// order.
using Labels = std::vector<std::pair<std::string, std::string>>;

/// Observations of a quantity, by the bounds that they are within.
class Histogram {
 public:
  /// `bounds` ascend, and outlive the histogram.
  explicit Histogram(std::span<const double> bounds)
      : bounds_(bounds), counts_(bounds.size() + 1) {}

  /// The quantity was `value`, `times` times.
  void observe(double value, std::uint64_t times = 1);
  /// Appends the samples to `text`.
  void write(const std::string& name, const Labels& labels, std::string& text) const;

 private:
  std::span<const double> bounds_;
  std::vector<std::uint64_t> counts_;  ///< within each bound but not the next lower, and above all
  double sum_ = 0;
};

/// Appends to `text` the lines that precede the samples of a metric.
void write_head(const std::string& name, const std::string& help, const char* type,
                std::string& text);
/// Appends a sample to `text`.
void write_sample(const std::string& name, const Labels& labels, double value, std::string& text);

/// Owns metrics; references to them stay valid. Metrics of the same name have different labels, and
/// the help of the first.
class Registry {
 public:
  /// Adds a metric, at 0.
  double& counter(const std::string& name, const std::string& help, Labels labels = {});
  double& gauge(const std::string& name, const std::string& help, Labels labels = {});
  Histogram& histogram(const std::string& name, const std::string& help,
                       std::span<const double> bounds, Labels labels = {});
  /// Returns all metrics in the exposition format.
  std::string text() const;

 private:
  struct Family {
    std::string help;
    const char* type;
    std::deque<std::pair<Labels, double>> numbers;
    std::deque<std::pair<Labels, Histogram>> histograms;
  };
  Family& family(const std::string& name, const std::string& help, const char* type);

  std::map<std::string, Family> families_;  ///< by name
};

}  // namespace simco::metrics
