// Random walks of the small world as traces, and runs of the specification taken by it.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

namespace simco::simulator {

/// Takes `steps` random steps, and returns their lines (tracer.hpp). Throws Fault as SmallWorld
/// does.
std::vector<std::string> random_trace(std::uint32_t seed, std::size_t steps);

/// Takes the requests and refusals of a run of the specification, one at a time, and compares the
/// lines that follow each. Throws Fault with the first difference.
void replay(const std::vector<std::string>& run);

/// Reads runs, each after a line that begins with "run".
std::vector<std::vector<std::string>> read_runs(std::istream& from);

}  // namespace simco::simulator
