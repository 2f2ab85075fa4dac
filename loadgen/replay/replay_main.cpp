// simco-replay: both ends of a workload for the laboratory's user-mode Linux, whose kernel sends,
// answers and times the messages (replay.h).
//
//   simco-replay agent COMMAND OF THE SERVER -- COMMAND OF simco-loadgen
//   simco-replay box COMMAND OF THE SERVER
//
// The server is simco-middlebox, simco-echo or simco-sip.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <string_view>

#include "loadgen/echo/echo_options.hpp"
#include "loadgen/echo/echo_script.hpp"
#include "loadgen/per/per_script.hpp"
#include "loadgen/replay/ends.hpp"
#include "loadgen/sip/sip_script.hpp"
#include "simco/cli/command_line.hpp"

namespace {

using namespace simco;
using namespace simco::loadgen;

using Words = std::span<char* const>;

constexpr std::string_view kServers[] = {"simco-middlebox", "simco-echo", "simco-sip"};

/// Calls `parse` with the words.
template <class Parse>
auto parsed(Parse parse, Words words) {
  return parse(static_cast<int>(words.size()), words.data());
}

int as_agent(std::string_view server, Words words, Words load) {
  const auto settings = parsed(parse_settings, load);
  if (!settings) return cli::leave(settings.error());
  if (server == "simco-echo") return replay::offer(*settings, EchoScript(*settings));
  if (server == "simco-middlebox") return replay::offer(*settings, PerScript(*settings));
  const auto box = parsed(parse_sip_settings, words);
  if (!box) return cli::leave(box.error());
  return replay::offer(*settings, SipScript(*settings, *box));
}

int as_box(std::string_view server, Words words) {
  if (server == "simco-sip") {
    const auto settings = parsed(parse_sip_settings, words);
    if (!settings) return cli::leave(settings.error());
    write_files(*settings, replay::serve(settings->server.listen, [](const auto&) {}));
    return 0;
  }
  const bool is_echo = server == "simco-echo";
  const auto settings = parsed(is_echo ? parse_echo_settings : parse_box_settings, words);
  if (!settings) return cli::leave(settings.error());
  replay::serve(*settings, [is_echo](const auto& connection) {
    if (!is_echo) open_session(connection);
  });
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Words words(argv, static_cast<std::size_t>(argc));
  const auto end = std::ranges::find(words, std::string_view("--"));
  const auto at = static_cast<std::size_t>(end - words.begin());
  try {
    if (argc > 2 && std::ranges::find(kServers, argv[2]) == std::end(kServers)) {
      throw std::runtime_error(fmt::format("no replay of {}", argv[2]));
    }
    if (argc > 2 && end == words.end()) return as_box(argv[2], words.subspan(2));
    if (argc > 2) return as_agent(argv[2], words.subspan(2, at - 2), words.subspan(at + 1));
    cli::complain("simco-replay", "the laboratory starts it (scripts/lab run --engine uml)");
  } catch (const std::exception& failure) {
    cli::complain("simco-replay", failure.what());
  }
  return 1;
}
