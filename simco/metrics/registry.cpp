#include "simco/metrics/registry.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace simco::metrics {

void Histogram::observe(double value, std::uint64_t times) {
  const auto bound = std::ranges::lower_bound(bounds_, value);
  counts_[static_cast<std::size_t>(bound - bounds_.begin())] += times;
  sum_ += value * static_cast<double>(times);
}

void Histogram::write(const std::string& name, const Labels& labels, std::string& text) const {
  std::uint64_t count = 0;  // of observations up to the bound
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    count += counts_[i];
    auto bucket = labels;
    bucket.emplace_back("le", i < bounds_.size() ? fmt::format("{}", bounds_[i]) : "+Inf");
    write_sample(name + "_bucket", bucket, static_cast<double>(count), text);
  }
  write_sample(name + "_sum", labels, sum_, text);
  write_sample(name + "_count", labels, static_cast<double>(count), text);
}

void write_head(const std::string& name, const std::string& help, const char* type,
                std::string& text) {
  text += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

void write_sample(const std::string& name, const Labels& labels, double value, std::string& text) {
  text += name;
  char before = '{';
  for (const auto& [label, is] : labels) {
    text += fmt::format("{}{}=\"{}\"", before, label, is);
    before = ',';
  }
  text += fmt::format("{} {}\n", labels.empty() ? "" : "}", value);
}

Registry::Family& Registry::family(const std::string& name, const std::string& help,
                                   const char* type) {
  return families_.try_emplace(name, Family{help, type, {}, {}}).first->second;
}

double& Registry::counter(const std::string& name, const std::string& help, Labels labels) {
  return family(name, help, "counter").numbers.emplace_back(std::move(labels), 0).second;
}

double& Registry::gauge(const std::string& name, const std::string& help, Labels labels) {
  return family(name, help, "gauge").numbers.emplace_back(std::move(labels), 0).second;
}

Histogram& Registry::histogram(const std::string& name, const std::string& help,
                               std::span<const double> bounds, Labels labels) {
  auto& histograms = family(name, help, "histogram").histograms;
  return histograms.emplace_back(std::move(labels), Histogram(bounds)).second;
}

std::string Registry::text() const {
  std::string result;
  for (const auto& [name, family] : families_) {
    write_head(name, family.help, family.type, result);
    for (const auto& [labels, number] : family.numbers) {
      write_sample(name, labels, number, result);
    }
    for (const auto& [labels, histogram] : family.histograms) {
      histogram.write(name, labels, result);
    }
  }
  return result;
}

}  // namespace simco::metrics
