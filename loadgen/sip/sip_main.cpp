// simco-sip: listens until told to stop, then writes its counts.
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <exception>

#include "loadgen/output_file.hpp"
#include "loadgen/serve.hpp"
#include "loadgen/sip/sip_options.hpp"
#include "simco/cli/command_line.hpp"

namespace {

using namespace simco::loadgen;

constexpr const char* kProgram = "simco-sip";

int run(const SipSettings& settings) {
  const auto complain = [](const std::string& what) {
    simco::cli::complain(kProgram, what);
    return 1;
  };
  for (const auto& path : {settings.json, settings.samples}) {
    if (const auto good = can_write(path); !good) return complain(good.error());
  }
  boost::asio::io_context io(1);
  const SipServer server(io, settings.server);
  serve(io, server.listening());
  if (!settings.samples.empty()) {
    if (const auto good = server.arrivals().write(settings.samples); !good) {
      return complain(good.error());
    }
  }
  if (!settings.json.empty()) {
    if (const auto good = write_text(settings.json, sip_json(settings, server)); !good) {
      return complain(good.error());
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto settings = parse_sip_settings(argc, argv);
  if (!settings) return simco::cli::leave(settings.error());
  try {
    return run(*settings);
  } catch (const std::exception& failure) {
    simco::cli::complain(kProgram, failure.what());
    return 1;
  }
}
