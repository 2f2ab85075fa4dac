// Declares the options of simco-sip and checks their combinations; writes its counts as JSON.
#include "loadgen/sip/sip_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "simco/cli/options.hpp"
#include "simco/cli/transport_arguments.hpp"

namespace simco::loadgen {
namespace {

constexpr sip::ResponseKind kTrying{100, "Trying"};
constexpr sip::ResponseKind kRinging{180, "Ringing", "Contact: <sip:b@b.example>\r\n"};

/// Checks what the options say together, and takes it over.
std::optional<std::string> complete(SipSettings& settings, cli::TransportArguments& transport) {
  if (const auto fault = transport.fault()) return fault;
  SipServerOptions& server = settings.server;
  const bool over_tls = std::ranges::any_of(
      server.listen.transports, [](net::Transport one) { return net::type_of(one).tls; });
  if (server.listen.tls && !over_tls) {
    return "--tls-ca, --tls-certificate and --tls-key require --transport " +
           net::transport_names(" or ", &net::TransportType::tls);
  }
  if (settings.response != "none") {
    server.response = settings.response == "100" ? kTrying : kRinging;
    const auto least = sip::response_size_min(*server.response);
    if (server.response_size < least) {
      return fmt::format("--response-size: a {} response has at least {} octets, got {}",
                         settings.response, least, server.response_size);
    }
  }
  server.keep_arrivals = !settings.samples.empty();
  return std::nullopt;
}

}  // namespace

std::expected<SipSettings, cli::UsageExit> parse_sip_settings(int argc, const char* const* argv) {
  SipSettings settings;
  SipServerOptions& server = settings.server;
  server.listen.port = kSipPort;
  cli::TransportArguments transport;
  cli::Options options("simco-sip", "SIP server for simco-loadgen --workload sip: answers INVITEs",
                       "  simco-sip --listen 192.0.2.1 --response 180\n"
                       "  simco-sip --port 5070 --json counts.json --samples arrivals.csv");
  transport.declare_listener(options, server.listen, net::Need::kAny);
  options.group("SIP");
  options.choice("--response", settings.response, "Response to an INVITE: 100, 180 or none",
                 {"100", "180", "none"});
  options.whole("--response-size", server.response_size, "Size of a response, octets", 1,
                sip::kResponseMax);
  options.whole("--t1", server.t1, "Timer T1 of the clients (RFC 3261), milliseconds",
                sip::kT1Min_ms, sip::kT1Max_ms);
  options.text("--samples", settings.samples,
               "CSV file to write the arrival of each call of simco-loadgen to, at the end");
  options.text("--json", settings.json, "File to write counts to, at the end; -: standard output");
  options.group("Other");
  if (const auto exit = cli::parse(options, argc, argv)) return std::unexpected(*exit);
  if (const auto fault = complete(settings, transport)) {
    return std::unexpected(cli::wrong(options, *fault));
  }
  if (const auto remark = transport.remark()) cli::complain("simco-sip", *remark);
  return settings;
}

std::string sip_json(const SipSettings& settings, const SipServer& server) {
  const auto& counts = server.counts();
  nlohmann::ordered_json transports = nlohmann::ordered_json::array();
  for (const auto one : settings.server.listen.transports) transports.push_back(to_string(one));
  nlohmann::ordered_json totals = nlohmann::ordered_json::object();
  for (const auto& [transport, figures] : server.transport_totals()) {
    totals[transport] = nlohmann::ordered_json::object();
    for (const auto& [name, value] : figures) totals[transport][name] = value;
  }
  const nlohmann::ordered_json document = {{"version", 1},
                                           {"parameters",
                                            {{"transport", transports},
                                             {"response", settings.response},
                                             {"response_size", settings.server.response_size},
                                             {"t1", settings.server.t1.count()}}},
                                           {"invites", counts.invites},
                                           {"copies", counts.copies},
                                           {"foreign_invites", counts.foreign_invites},
                                           {"responses", counts.responses},
                                           {"refused", counts.refused},
                                           {"acknowledgements", counts.acknowledgements},
                                           {"other_requests", counts.other_requests},
                                           {"stray_responses", counts.stray_responses},
                                           {"malformed_messages", counts.malformed},
                                           {"connections", counts.connections},
                                           {"refused_connections", counts.refused_connections},
                                           {"arrivals_not_noted", server.arrivals().not_noted()},
                                           {"transport_stats", totals}};
  return document.dump(1) + "\n";
}

}  // namespace simco::loadgen
