// Parses the text exposition format line by line, and computes the histogram of the observations
// between two readings.
#include "agent/simcoctl/exposition.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace simco::ctl {
namespace {

/// Takes `NAME="VALUE",...}` from the front of `line`, behind the brace.
bool take_labels(std::string_view& line, std::map<std::string, std::string>& labels) {
  while (!line.empty() && line.front() != '}') {
    const auto equals = line.find("=\"");
    if (equals == std::string_view::npos) return false;
    const std::string name(line.substr(0, equals));
    line.remove_prefix(equals + 2);
    std::string value;
    for (; !line.empty() && line.front() != '"'; line.remove_prefix(1)) {
      char next = line.front();
      if (next == '\\' && line.size() > 1) {
        line.remove_prefix(1);
        next = line.front() == 'n' ? '\n' : line.front();
      }
      value += next;
    }
    if (line.empty()) return false;
    line.remove_prefix(1);
    labels[name] = std::move(value);
    if (line.starts_with(',')) line.remove_prefix(1);
  }
  if (line.empty()) return false;
  line.remove_prefix(1);
  return true;
}

bool agree(const Sample& sample, const std::map<std::string, std::string>& labels) {
  return std::ranges::all_of(
      labels, [&](const auto& wanted) { return sample.label(wanted.first) == wanted.second; });
}

}  // namespace

std::string Sample::label(const std::string& name) const {
  const auto found = labels.find(name);
  return found == labels.end() ? std::string() : found->second;
}

Exposition::Exposition(std::string_view text) {
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    const auto name_end = line.find_first_of("{ ");
    if (name_end == std::string_view::npos) continue;
    const std::string name(line.substr(0, name_end));
    const bool labelled = line[name_end] == '{';
    line.remove_prefix(name_end + 1);
    Sample sample;
    if (labelled && !take_labels(line, sample.labels)) continue;
    const std::string number(line);
    char* rest = nullptr;
    sample.value = std::strtod(number.c_str(), &rest);
    if (rest == number.c_str()) continue;
    samples_[name].push_back(std::move(sample));
  }
}

const std::vector<Sample>& Exposition::all(const std::string& name) const {
  static const std::vector<Sample> none;
  const auto found = samples_.find(name);
  return found == samples_.end() ? none : found->second;
}

double Exposition::sum(const std::string& name,
                       const std::map<std::string, std::string>& labels) const {
  double result = 0;
  for (const auto& sample : all(name)) {
    if (agree(sample, labels)) result += sample.value;
  }
  return result;
}

Distribution::Distribution(const Exposition& before, const Exposition& now, const std::string& name,
                           const std::map<std::string, std::string>& labels) {
  for (const auto& sample : now.all(name + "_bucket")) {
    if (!agree(sample, labels)) continue;
    const double older = before.sum(name + "_bucket", sample.labels);
    buckets_.emplace_back(std::strtod(sample.label("le").c_str(), nullptr), sample.value - older);
  }
  std::ranges::sort(buckets_);
  count_ = now.sum(name + "_count", labels) - before.sum(name + "_count", labels);
  sum_ = now.sum(name + "_sum", labels) - before.sum(name + "_sum", labels);
}

double Distribution::quantile(double q) const {
  const double wanted = q * count_;
  double bound_below = 0;
  double count_below = 0;
  for (const auto& [bound, count] : buckets_) {
    if (std::isinf(bound)) break;
    if (count >= wanted && count > count_below) {
      return bound_below + (bound - bound_below) * (wanted - count_below) / (count - count_below);
    }
    bound_below = bound;
    count_below = count;
  }
  return bound_below;
}

}  // namespace simco::ctl
