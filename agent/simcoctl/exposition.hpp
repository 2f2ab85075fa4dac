// Prometheus' text exposition format 0.0.4, as far as it carries figures: what a middlebox's
// /metrics says.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace simco::ctl {

/// One line: a value, and the labels that tell it from others of its name.
struct Sample {
  std::map<std::string, std::string> labels;
  double value = 0;
  /// The label's value, or an empty text.
  std::string label(const std::string& name) const;
};

class Exposition {
 public:
  /// Lines that are none of the format are passed over.
  explicit Exposition(std::string_view text);

  const std::vector<Sample>& all(const std::string& name) const;
  /// Sum of the samples called `name` whose labels agree with `labels`; 0 where there are none.
  double sum(const std::string& name, const std::map<std::string, std::string>& labels = {}) const;
  bool has(const std::string& name) const { return samples_.contains(name); }

 private:
  std::map<std::string, std::vector<Sample>> samples_;
};

/// The buckets of a histogram: how many observations were at most so large. From what was counted
/// between `before` and `now`.
class Distribution {
 public:
  Distribution(const Exposition& before, const Exposition& now, const std::string& name,
               const std::map<std::string, std::string>& labels = {});

  double count() const { return count_; }
  double mean() const { return count_ > 0 ? sum_ / count_ : 0; }
  /// Where a share `q` of the observations is below, assumed to be spread evenly within their
  /// bucket; the largest bound where it is beyond all.
  double quantile(double q) const;

 private:
  std::vector<std::pair<double, double>> buckets_;  ///< bound, observations up to it
  double count_ = 0;
  double sum_ = 0;
};

}  // namespace simco::ctl
