// simco-replay: simco-loadgen with the sip workload, or simco-sip, for the laboratory's user-mode
// Linux, whose kernel sends, answers and times the messages (replay.h).
//
//   simco-replay agent WORDS OF simco-sip -- WORDS OF simco-loadgen
//   simco-replay box WORDS OF simco-sip
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string_view>

#include "loadgen/sip/replay/ends.hpp"
#include "simco/cli/command_line.hpp"

int main(int argc, char** argv) {
  using namespace simco::loadgen;
  constexpr const char* kName = "simco-replay";
  const std::string_view end = argc > 1 ? argv[1] : "";
  // The end's name, and the two hyphens, stand where a program's own name stands.
  int own = 1;
  while (own < argc - 1 && std::string_view(argv[own]) != "--") ++own;
  const auto box = parse_sip_settings(end == "box" ? argc - 1 : own - 1, argv + 1);
  if (!box) return simco::cli::leave(box.error());
  try {
    if (end == "box") return replay::serve(*box);
    const auto agent = parse_settings(argc - own, argv + own);
    if (!agent) return simco::cli::leave(agent.error());
    return replay::offer(*agent, *box);
  } catch (const std::exception& failure) {
    simco::cli::complain(kName, failure.what());
    return 1;
  }
}
