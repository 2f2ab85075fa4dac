// The counts of a backend for metrics, except those of rules.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace simco::backend {

/// A counter, as Prometheus knows it. Figures of the same name stand together, and have the same
/// labels with other values.
struct Figure {
  std::string name;                                         ///< ends in _total
  std::vector<std::pair<std::string, std::string>> labels;  ///< names and values, from fixed sets
  std::uint64_t value = 0;                                  ///< never less than before
  std::string help;                                         ///< a sentence
};

using Figures = std::vector<Figure>;

}  // namespace simco::backend
