// The progress of a run on a terminal: its duration, its state, the remaining time.
#pragma once

#include <string>

#include "loadgen/generator.hpp"

namespace simco::loadgen {

/// Returns a time for people, to the second: "8 s", "2 min 5 s", "3 h 20 min".
std::string duration_text(double seconds);
/// Returns the plan of a run with `options`: transactions, rate and time.
std::string plan_text(const GeneratorOptions& options);
/// Returns the line of `progress`, at least as long as the previous line.
std::string progress_text(const Generator::Progress& progress);

}  // namespace simco::loadgen
