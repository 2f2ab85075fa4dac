// simco-sip: listens until told to stop, then writes what it has counted.
#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <cstdio>
#include <exception>

#include "loadgen/output_file.hpp"
#include "loadgen/serve.hpp"
#include "loadgen/sip/sip_options.hpp"

namespace {

using namespace simco::loadgen;

int run(const SipSettings& settings) {
  const auto complain = [](const std::string& what) {
    fmt::print(stderr, "simco-sip: {}\n", what);
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
  if (!settings) {
    const auto& [text, code] = settings.error();
    std::fputs(text.c_str(), code == 0 ? stdout : stderr);
    return code;
  }
  try {
    return run(*settings);
  } catch (const std::exception& failure) {
    fmt::print(stderr, "simco-sip: {}\n", failure.what());
    return 1;
  }
}
