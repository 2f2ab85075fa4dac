// The options and their checks.
#include "agent/ng/serve/options.hpp"

#include <fmt/format.h>

#include <boost/asio/ip/address.hpp>

#include "agent/agent_arguments.hpp"
#include "simco/cli/config_file.hpp"
#include "simco/cli/options.hpp"

namespace simco::ng {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kYear_s = 31'536'000;

constexpr const char* kExamples =
    "  simco-ng --internal 10.0.0.0/8\n"
    "      for a proxy and a middlebox on this host\n"
    "  simco-ng --internal 10.0.0.0/8 --middlebox box.example.org --name proxy1 --secret-file "
    "proxy1.secret\n"
    "  simco-ng --config /etc/simco-ng/ng.toml --check";

struct Arguments {
  agent::AgentArguments agent{"middlebox", 5s};
  Settings settings;
  std::string config;
};

std::expected<IpPrefix, std::string> read_prefix(const std::string& word) {
  if (const auto prefix = parse_prefix(word)) return *prefix;
  return std::unexpected(fmt::format("expected ADDRESS or PREFIX/LENGTH, got '{}'", word));
}

/// Reads ADDRESS:PORT to listen at, where port 0 stands for any free one.
std::expected<net::HostPort, std::string> read_listen(const std::string& text) {
  const std::string_view any_port = ":0";
  const bool any = text.ends_with(any_port);
  auto address = net::parse_address_port(any ? text.substr(0, text.size() - any_port.size()) : text,
                                         kNgPortDefault);
  if (!address) return std::unexpected("expected ADDRESS:PORT, got '" + text + "'");
  if (any) address->port = 0;
  return address;
}

/// Empty: none, as without the option.
std::expected<std::optional<net::HostPort>, std::string> read_proxy(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return net::parse_address_port(text, kNgPortDefault);
}

std::expected<std::optional<net::HostPort>, std::string> read_endpoint(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return net::parse_address_port(text);
}

std::expected<std::string, std::string> read_metrics(const std::string& text) {
  const auto endpoint = read_endpoint(text);
  if (!endpoint) return std::unexpected(endpoint.error());
  return text;
}

void declare_calls(cli::Options& options, Settings& settings) {
  auto& calls = settings.calls;
  options.group("Calls");
  options.parsed_each("--internal", calls.media.internal,
                      "Prefixes of the internal side of the middlebox; may be given several times",
                      read_prefix);
  options.parsed("--upstream", settings.upstream,
                 "ADDRESS:PORT of a media proxy (rtpengine) to pass requests on to; its ports are "
                 "opened to the parties that they serve",
                 read_proxy);
  options.flag("--strict-source", calls.media.strict_source,
               "Refuse an internal endpoint that is not where its SIP message came from");
  options.whole("--lifetime", calls.lifetime.seconds,
                "Lifetime of rules, seconds; they are renewed in the middle of it", 3, 86'400);
  options.whole("--max-duration", calls.duration_max,
                "Maximum duration of a call, seconds, in case its end is lost", 1, kYear_s);
  options.parsed("--inspect", settings.inspect,
                 "ADDRESS:PORT where the middlebox tells (its --inspect) what rules have counted "
                 "(its --counters): query and delete tell totals",
                 read_endpoint);
  options.whole("--media-timeout", calls.media_timeout,
                "End calls without a packet of media, either way, for so many seconds; needs "
                "--inspect; 0: never",
                0, kYear_s);
  options.whole("--max-calls", calls.calls_max, "Maximum number of calls");
}

void declare(cli::Options& options, Arguments& arguments) {
  auto& settings = arguments.settings;
  options
      .parsed("--listen", settings.listen,
              "ADDRESS:PORT for the ng protocol, UDP; port 0: any free port", read_listen)
      .default_text = fmt::format("{}:{}", settings.listen.host, settings.listen.port);
  options.parsed_each(
      "--allow-from", settings.allowed,
      "Addresses and prefixes that may send requests, comma-separated; the ng protocol has no "
      "authentication (default: this host alone)",
      read_prefix);
  arguments.agent.declare(options);
  declare_calls(options, settings);
  options.group("Configuration and log");
  options.text("--state", settings.state,
               "File to store calls in, so that they survive a restart (SQLite)");
  options.parsed("--metrics", settings.metrics,
                 "ADDRESS:PORT to serve Prometheus metrics on, at /metrics", read_metrics);
  options
      .text("--config", arguments.config, "TOML file: long option names as keys; reread on SIGHUP")
      .only_on_command_line = true;
  options
      .flag("--check", settings.check_only,
            "Check the options and the configuration file, then exit")
      .only_on_command_line = true;
  options.choice("--log-level", settings.log_level, "Lowest level to log",
                 {"trace", "debug", "info", "warn", "error", "off"});
}

/// Checks the options against each other, and takes them over.
cli::Fault complete(Arguments& arguments) {
  auto& settings = arguments.settings;
  auto& calls = settings.calls;
  if (calls.media.internal.empty()) return "--internal is missing: which side is internal";
  const auto& host = settings.listen.host;
  if (!boost::asio::ip::make_address(host).is_loopback() && settings.allowed.empty()) {
    return "--listen: " + host +
           " is reachable from other hosts and the ng protocol has no authentication: say who may "
           "send requests with --allow-from, or listen on a loopback address";
  }
  if (calls.media_timeout.count() != 0 && !settings.inspect) {
    return "--media-timeout needs --inspect: only the middlebox sees whether packets pass";
  }
  calls.counts = settings.inspect.has_value();
  calls.upstream = settings.upstream.has_value();
  return arguments.agent.read(settings.middlebox, settings.agent);
}

}  // namespace

std::expected<Settings, cli::UsageExit> parse_settings(int argc, const char* const* argv) {
  Arguments arguments;
  cli::Options options(
      "simco-ng",
      "Controls a SIMCO (RFC 4540) middlebox for SIP proxies that speak rtpengine's ng protocol",
      kExamples);
  declare(options, arguments);
  if (const auto exit = cli::parse(options, argc, argv)) return std::unexpected(*exit);
  if (!arguments.config.empty()) {
    const auto file = cli::read_config_file(arguments.config, options);
    if (!file) return std::unexpected(cli::wrong(options, file.error()));
  }
  if (const auto fault = complete(arguments)) return std::unexpected(cli::wrong(options, *fault));
  arguments.settings.options = options.values();
  return std::move(arguments.settings);
}

}  // namespace simco::ng
