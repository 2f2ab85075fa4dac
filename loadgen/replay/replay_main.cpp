// simco-replay: both ends of a workload for the laboratory's user-mode Linux, whose kernel sends,
// answers and times the messages (replay.h).
//
//   simco-replay agent COMMAND OF THE SERVER -- COMMAND OF simco-loadgen
//   simco-replay box COMMAND OF THE SERVER
//
// The server is simco-sip or simco-echo.
#include <algorithm>
#include <exception>
#include <string_view>

#include "loadgen/echo/echo_options.hpp"
#include "loadgen/echo/echo_script.hpp"
#include "loadgen/replay/ends.hpp"
#include "loadgen/sip/sip_script.hpp"
#include "simco/cli/command_line.hpp"

namespace {

using namespace simco;
using namespace simco::loadgen;

using Words = std::span<char* const>;

bool of_echo(Words server) {
  return !server.empty() && server[0] == std::string_view("simco-echo");
}

auto sip_settings(Words server) {
  return parse_sip_settings(static_cast<int>(server.size()), server.data());
}

int agent(Words server, Words load) {
  const auto settings = parse_settings(static_cast<int>(load.size()), load.data());
  if (!settings) return cli::leave(settings.error());
  if (of_echo(server)) return replay::offer(*settings, EchoScript(*settings));
  const auto box = sip_settings(server);
  if (!box) return cli::leave(box.error());
  return replay::offer(*settings, SipScript(*settings, *box));
}

int box(Words server) {
  if (of_echo(server)) {
    const auto settings = parse_echo_settings(static_cast<int>(server.size()), server.data());
    if (!settings) return cli::leave(settings.error());
    replay::serve(*settings);
    return 0;
  }
  const auto settings = sip_settings(server);
  if (!settings) return cli::leave(settings.error());
  write_files(*settings, replay::serve(settings->server.listen));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Words words(argv, static_cast<std::size_t>(argc));
  const auto end = std::ranges::find(words, std::string_view("--"));
  const auto at = static_cast<std::size_t>(end - words.begin());
  try {
    if (argc > 2 && end == words.end()) return box(words.subspan(2));
    if (argc > 2) return agent(words.subspan(2, at - 2), words.subspan(at + 1));
    cli::complain("simco-replay", "the laboratory starts it (scripts/lab run --engine uml)");
  } catch (const std::exception& failure) {
    cli::complain("simco-replay", failure.what());
  }
  return 1;
}
