// The options, their checks, and what of them a file may have.
#include "agent/ng/serve/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/asio/ip/address.hpp>

#include "agent/agent_arguments.hpp"
#include "agent/ng/serve/limits.hpp"
#include "simco/cli/command_line.hpp"
#include "simco/cli/config_file.hpp"
#include "simco/cli/values.hpp"

namespace simco::ng {
namespace {

constexpr const char* kProgram = "simco-ng";

constexpr const char* kExamples =
    "  simco-ng --internal 10.0.0.0/8\n"
    "      for a proxy and a middlebox on this host\n"
    "  simco-ng --internal 10.0.0.0/8 --middlebox box.example.org --name proxy1 --secret-file "
    "proxy1.secret\n"
    "  simco-ng --config /etc/simco-ng/ng.toml --check";

struct Raw {
  agent::AgentArguments agent{"middlebox", 5};
  Settings settings;
  std::string listen = "127.0.0.1:2223";
  std::vector<std::string> allowed;
  std::vector<std::string> internal;
  std::int64_t duration_max_s = std::chrono::seconds(kDurationMaxDefault).count();
  std::int64_t media_timeout_s = 0;
  std::string upstream;
  std::string inspect;
  std::string config;
};

void declare(CLI::App& app, Raw& raw) {
  auto& calls = raw.settings.calls;
  app.add_option("--listen", raw.listen,
                 "ADDRESS:PORT for the ng protocol, UDP; port 0: any free port")
      ->capture_default_str();
  app.add_option("--allow-from", raw.allowed,
                 "Addresses and prefixes that may send requests, comma-separated; the ng protocol "
                 "has no authentication (default: this host alone)")
      ->delimiter(',');
  raw.agent.declare(app);
  app.option_defaults()->group("Calls");
  app.add_option("--internal", raw.internal,
                 "Prefixes of the internal side of the middlebox; may be given several times")
      ->delimiter(',');
  app.add_option("--upstream", raw.upstream,
                 "ADDRESS:PORT of a media proxy (rtpengine) to pass requests on to; its ports are "
                 "opened to the parties that they serve");
  app.add_flag("--strict-source", calls.media.strict_source,
               "Refuse an internal endpoint that is not where its SIP message came from");
  app.add_option("--lifetime", calls.lifetime.seconds,
                 "Lifetime of rules, seconds; they are renewed in the middle of it")
      ->check(cli::whole_number(3, 86'400))
      ->capture_default_str();
  app.add_option("--max-duration", raw.duration_max_s,
                 "Maximum duration of a call, seconds, in case its end is lost")
      ->check(cli::whole_number(1, 31'536'000))
      ->capture_default_str();
  app.add_option("--inspect", raw.inspect,
                 "ADDRESS:PORT where the middlebox tells (its --inspect) what rules have counted "
                 "(its --counters): query and delete tell totals");
  app.add_option("--media-timeout", raw.media_timeout_s,
                 "End calls without a packet of media, either way, for so many seconds; needs "
                 "--inspect; 0: never")
      ->check(cli::whole_number(0, 31'536'000))
      ->capture_default_str();
  app.add_option("--max-calls", calls.calls_max, "Maximum number of calls")->capture_default_str();
  app.option_defaults()->group("Configuration and log");
  app.add_option("--state", raw.settings.state,
                 "File to store calls in, so that they survive a restart (SQLite)");
  app.add_option("--metrics", raw.settings.metrics,
                 "ADDRESS:PORT to serve Prometheus metrics on, at /metrics");
  app.add_option("--config", raw.config, "TOML file: long option names as keys; reread on SIGHUP");
  app.add_flag("--check", raw.settings.check_only,
               "Check the options and the configuration file, then exit");
  app.add_option("--log-level", raw.settings.log_level, "Lowest level to log")
      ->check(cli::one_of({"trace", "debug", "info", "warn", "error", "off"}))
      ->capture_default_str();
  cli::declare_help(app);
  cli::set_layout(app, kExamples);
}

using Fault = std::optional<std::string>;

Fault set_prefixes(const char* option, const std::vector<std::string>& words,
                   std::vector<IpPrefix>& prefixes) {
  for (const auto& word : words) {
    const auto prefix = parse_prefix(word);
    if (!prefix) {
      return fmt::format("{}: expected ADDRESS or PREFIX/LENGTH, got '{}'", option, word);
    }
    prefixes.push_back(*prefix);
  }
  return std::nullopt;
}

Fault set_addresses(const Raw& raw, Settings& settings) {
  // Port 0 stands for any free one, here alone.
  const std::string any_port = ":0";
  std::string_view text = raw.listen;
  if (text.ends_with(any_port)) text.remove_suffix(any_port.size());
  const auto listen = net::parse_address_port(text, kNgPortDefault);
  if (!listen) return "--listen: expected ADDRESS:PORT, got '" + raw.listen + "'";
  if (!boost::asio::ip::make_address(listen->host).is_loopback() && raw.allowed.empty()) {
    return "--listen: " + listen->host +
           " is reachable from other hosts and the ng protocol has no authentication: say who may "
           "send requests with --allow-from, or listen on a loopback address";
  }
  settings.listen = *listen;
  if (raw.listen.ends_with(any_port)) settings.listen.port = 0;
  if (settings.metrics.empty()) return std::nullopt;
  const auto metrics = net::parse_address_port(settings.metrics);
  return metrics ? std::nullopt : Fault("--metrics: " + metrics.error());
}

/// Reads ADDRESS:PORT.
Fault set_endpoint(const char* option, const std::string& text, std::uint16_t default_port,
                   std::optional<net::HostPort>& endpoint) {
  if (text.empty()) return std::nullopt;
  const auto read = net::parse_address_port(text, default_port);
  if (!read) return std::string(option) + ": " + read.error();
  endpoint = *read;
  return std::nullopt;
}

Fault set_counters(const Raw& raw, Settings& settings) {
  if (auto fault = set_endpoint("--inspect", raw.inspect, 0, settings.inspect)) return fault;
  if (raw.media_timeout_s != 0 && !settings.inspect) {
    return "--media-timeout needs --inspect: only the middlebox sees whether packets pass";
  }
  settings.calls.counts = settings.inspect.has_value();
  settings.calls.media_timeout = std::chrono::seconds(raw.media_timeout_s);
  return std::nullopt;
}

Fault set(Raw& raw) {
  auto& settings = raw.settings;
  if (auto fault = set_prefixes("--internal", raw.internal, settings.calls.media.internal)) {
    return fault;
  }
  if (auto fault = set_prefixes("--allow-from", raw.allowed, settings.allowed)) return fault;
  if (settings.calls.media.internal.empty()) return "--internal is missing: which side is internal";
  if (auto fault = set_addresses(raw, settings)) return fault;
  if (auto fault = set_endpoint("--upstream", raw.upstream, kNgPortDefault, settings.upstream)) {
    return fault;
  }
  settings.calls.upstream = settings.upstream.has_value();
  if (auto fault = set_counters(raw, settings)) return fault;
  settings.calls.duration_max = std::chrono::seconds(raw.duration_max_s);
  return raw.agent.read(settings.middlebox, settings.agent);
}

/// Returns what is wrong with an option of the file.
Fault check_word(const std::string& word) {
  CLI::App probe;
  Raw scratch;
  declare(probe, scratch);
  return cli::word_fault(probe, word);
}

}  // namespace

std::expected<Settings, cli::UsageExit> parse_settings(int argc, const char* const* argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  {
    Raw first;
    CLI::App app(
        "Controls a SIMCO (RFC 4540) middlebox for SIP proxies that speak rtpengine's ng "
        "protocol",
        kProgram);
    declare(app, first);
    if (const auto exit = cli::parse(app, words)) return std::unexpected(*exit);
    if (!first.config.empty()) {
      const auto file = cli::read_config_file(first.config, app, {{}, check_word});
      if (!file) return std::unexpected(cli::wrong(app, file.error()));
      words.insert(words.end(), file->words.begin(), file->words.end());
    }
  }
  Raw raw;
  CLI::App app("", kProgram);
  declare(app, raw);
  if (const auto exit = cli::parse(app, words)) return std::unexpected(*exit);
  if (const auto fault = set(raw)) return std::unexpected(cli::wrong(app, *fault));
  raw.settings.options = cli::effective_options(app);
  return std::move(raw.settings);
}

}  // namespace simco::ng
