#include "loadgen/cross/options.hpp"

#include "loadgen/cross/limits.hpp"
#include "simco/cli/options.hpp"

namespace simco::cross {
namespace {

std::expected<boost::asio::ip::address, std::string> read_address(const std::string& text) {
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(text, error);
  if (error) return std::unexpected("expected an IP address, got '" + text + "'");
  return address;
}

/// Adds a command with the options for its address and port.
cli::Options& add_command(cli::Options& options, Settings& settings, const char* name,
                          const char* about) {
  auto& command = options.command(name, about);
  const bool listens = std::string_view(name) == "listen";
  command
      .parsed(listens ? "--listen" : "--connect", settings.address,
              listens ? "Address to listen at" : "Address of the listener", read_address)
      .required = true;
  command.whole("--port", settings.port, "Its port, TCP and UDP");
  return command;
}

void declare(cli::Options& options, Settings& settings) {
  add_command(options, settings, "listen",
              "Serves the other commands: discards, or sends what is asked for");
  auto& bulk = add_command(options, settings, "bulk", "Connections that always have data to send");
  bulk.whole("--connections", settings.connections, "Number of connections", 1, kConnectionsMax);
  bulk.number("--from", settings.from_s, "Seconds after the start to begin at", 0, kSecondsMax);
  bulk.number("--for", settings.for_s, "Seconds to send for", 0, kSecondsMax);
  add_command(options, settings, "web",
              "Sessions that ask for three pages of 85,000 octets, 10 s apart")
      .number("--sessions", settings.rate, "Sessions that begin each second", 1e-6, kRateMax);
  auto& datagrams = add_command(options, settings, "datagrams", "UDP at a constant rate");
  datagrams.number("--rate", settings.rate, "Datagrams each second", 1e-6, kRateMax);
  datagrams.whole("--octets", settings.octets, "Octets of their payload", 0, kDatagramMax);
}

}  // namespace

std::expected<Settings, cli::UsageExit> parse_settings(int argc, const char* const* argv) {
  Settings settings;
  cli::Options options("simco-cross",
                       "Competing traffic for the laboratory: what else a network carries");
  declare(options, settings);
  if (const auto exit = cli::parse(options, argc, argv)) return std::unexpected(*exit);
  const auto& command = options.chosen_command();
  if (command == "bulk") settings.role = Role::kBulk;
  if (command == "web") settings.role = Role::kWeb;
  if (command == "datagrams") settings.role = Role::kDatagrams;
  return settings;
}

}  // namespace simco::cross
