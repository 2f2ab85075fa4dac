// Results for people (a table) and for programs (JSON).
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

}  // namespace simco::loadgen
