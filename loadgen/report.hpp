// Results for people (a table) and for programs (JSON), and the progress of a run on a terminal:
// its duration, its state, the remaining time.
#pragma once

#include <string>

#include "loadgen/generator.hpp"
#include "loadgen/options.hpp"
#include "loadgen/recorder.hpp"

namespace simco::loadgen {

/// The input of a report.
struct Results {
  const Settings& settings;
  const Recorder& recorder;
  const Generator& generator;
};

/// Returns the table, ending in a newline.
std::string table(const Results& results);
/// Returns the JSON document of doc/measuring.md, ending in a newline.
std::string json(const Results& results);
/// True if the generator's own lateness makes up so much of the tail of the response times that the
/// run measured this machine rather than the middlebox.
bool lag_matters(const Summary& lag, const Summary& response);
/// True if every transaction got a positive reply and the run was not aborted.
bool all_positive(const Results& results);

/// Returns a time for people, to the second: "8 s", "2 min 5 s", "3 h 20 min".
std::string duration_text(double seconds);
/// Returns the plan of a run with `options`: transactions, rate and time.
std::string plan_text(const GeneratorOptions& options);
/// Returns the line of `progress`, at least as long as the previous line.
std::string progress_text(const Generator::Progress& progress);

}  // namespace simco::loadgen
