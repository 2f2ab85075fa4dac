// The command line of simco-cross.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <cstdint>
#include <expected>

#include "simco/cli/command_line.hpp"

namespace simco::cross {

/// The task of this end.
enum class Role : std::uint8_t { kListen, kBulk, kWeb, kDatagrams };

/// The options as given.
struct Settings {
  Role role = Role::kListen;
  boost::asio::ip::address address;  ///< to listen at, or to connect to
  std::uint16_t port = 9000;
  std::size_t connections = 1;  ///< of kBulk
  double from_s = 0;            ///< kBulk begins to send so long after its start
  double for_s = 1e9;           ///< and sends for so long
  double rate = 1;              ///< sessions (kWeb) or datagrams (kDatagrams) a second
  std::size_t octets = 200;     ///< of the payload of a datagram
};

/// Parses the command line.
std::expected<Settings, cli::UsageExit> parse_settings(int argc, const char* const* argv);

}  // namespace simco::cross
