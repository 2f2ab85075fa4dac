// Reads the metrics of a middlebox: samples in Prometheus' text exposition format 0.0.4.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace simco::ctl {

/// A sample: a value, and the labels that distinguish it from others of the same name.
struct Sample {
  std::map<std::string, std::string> labels;
  double value = 0;
  /// Returns the label's value, or an empty string.
  std::string label(const std::string& name) const;
};

/// All samples of a response, by name.
class Exposition {
 public:
  /// Parses `text`; lines that are not in the format are ignored.
  explicit Exposition(std::string_view text);

  /// Returns all samples called `name`.
  const std::vector<Sample>& all(const std::string& name) const;
  /// Returns the sum of the samples called `name` whose labels include `labels`; 0 if there are
  /// none.
  double sum(const std::string& name, const std::map<std::string, std::string>& labels = {}) const;
  bool has(const std::string& name) const { return samples_.contains(name); }

 private:
  std::map<std::string, std::vector<Sample>> samples_;
};

/// A histogram of the observations between `before` and `now`.
class Distribution {
 public:
  Distribution(const Exposition& before, const Exposition& now, const std::string& name,
               const std::map<std::string, std::string>& labels = {});

  double count() const { return count_; }
  double mean() const { return count_ > 0 ? sum_ / count_ : 0; }
  /// Returns the quantile `q` (0 to 1), interpolated within its bucket; the largest bound if it is
  /// in the last bucket.
  double quantile(double q) const;

 private:
  std::vector<std::pair<double, double>> buckets_;  ///< bound, observations up to it
  double count_ = 0;
  double sum_ = 0;
};

}  // namespace simco::ctl
