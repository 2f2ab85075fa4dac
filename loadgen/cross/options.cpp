#include "loadgen/cross/options.hpp"

#include <CLI/CLI.hpp>

#include "loadgen/cross/limits.hpp"
#include "simco/cli/values.hpp"

namespace simco::cross {
namespace {

/// The commands, and the text of the address that each of them takes.
struct Declared {
  CLI::App* listen;
  CLI::App* bulk;
  CLI::App* web;
  CLI::App* datagrams;
};

Declared declare(CLI::App& app, Settings& settings, std::string& address) {
  Declared result{
      app.add_subcommand("listen",
                         "Serves the other commands: discards, or sends what is asked for"),
      app.add_subcommand("bulk", "Connections that always have data to send"),
      app.add_subcommand("web", "Sessions that ask for three pages of 85,000 octets, 10 s apart"),
      app.add_subcommand("datagrams", "UDP at a constant rate")};
  result.listen->add_option("--listen", address, "Address to listen at")->required();
  for (auto* command : {result.bulk, result.web, result.datagrams}) {
    command->add_option("--connect", address, "Address of the listener")->required();
  }
  for (auto* command : {result.listen, result.bulk, result.web, result.datagrams}) {
    command->add_option("--port", settings.port, "Its port, TCP and UDP")->capture_default_str();
  }
  result.bulk->add_option("--connections", settings.connections, "Number of connections")
      ->check(cli::whole_number(1, kConnectionsMax))
      ->capture_default_str();
  result.bulk->add_option("--from", settings.from_s, "Seconds after the start to begin at")
      ->check(cli::number(0, kSecondsMax))
      ->capture_default_str();
  result.bulk->add_option("--for", settings.for_s, "Seconds to send for")
      ->check(cli::number(0, kSecondsMax));
  result.web->add_option("--sessions", settings.rate, "Sessions that begin each second")
      ->check(cli::number(1e-6, kRateMax))
      ->capture_default_str();
  result.datagrams->add_option("--rate", settings.rate, "Datagrams each second")
      ->check(cli::number(1e-6, kRateMax))
      ->capture_default_str();
  result.datagrams->add_option("--octets", settings.octets, "Octets of their payload")
      ->check(cli::whole_number(0, kDatagramMax))
      ->capture_default_str();
  return result;
}

}  // namespace

std::expected<Settings, cli::UsageExit> parse_settings(int argc, const char* const* argv) {
  Settings settings;
  std::string address;
  CLI::App app("Competing traffic for the laboratory: what else a network carries", "simco-cross");
  const auto declared = declare(app, settings, address);
  app.require_subcommand(1);
  cli::declare_help(app);
  if (const auto exit = cli::parse(app, argc, argv)) return std::unexpected(*exit);
  if (*declared.bulk) settings.role = Role::kBulk;
  if (*declared.web) settings.role = Role::kWeb;
  if (*declared.datagrams) settings.role = Role::kDatagrams;
  boost::system::error_code error;
  settings.address = boost::asio::ip::make_address(address, error);
  if (error) return std::unexpected(cli::wrong(app, "'" + address + "' is not an IP address"));
  return settings;
}

}  // namespace simco::cross
