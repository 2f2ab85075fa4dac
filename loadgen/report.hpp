// Results for people (a table) and for programs (JSON).
#pragma once

#include <string>

#include "loadgen/generator.hpp"
#include "loadgen/options.hpp"
#include "loadgen/recorder.hpp"

namespace simco::loadgen {

/// Everything that a report is made from.
struct Results {
  const Settings& settings;
  const Recorder& recorder;
  const Generator& generator;
};

/// The table, ending in a newline.
std::string table(const Results& results);
/// The JSON document of doc/measuring.md, ending in a newline.
std::string json(const Results& results);
/// Whether so much of the response times' tail is the generator's own lateness that the figures say
/// more of this machine than of what is measured.
bool lag_matters(const Summary& lag, const Summary& response);
/// Every transaction got a positive reply, and the run was not aborted.
bool all_positive(const Results& results);

}  // namespace simco::loadgen
