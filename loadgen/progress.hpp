// What a run says of itself on a terminal: how long it will take, how far it is, what is left.
#pragma once

#include <string>

#include "loadgen/generator.hpp"

namespace simco::loadgen {

/// Returns a time for people, to the second: "8 s", "2 min 5 s", "3 h 20 min".
std::string duration_text(double seconds);
/// Returns what a run with `options` will do: transactions, rate and time.
std::string plan_text(const GeneratorOptions& options);
/// Returns the line of `progress`, which is as long as the previous one or longer.
std::string progress_text(const Generator::Progress& progress);

}  // namespace simco::loadgen
