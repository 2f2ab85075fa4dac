// Which transport, and how it is set up.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simco/net/quic/options.hpp"
#include "simco/net/sctp/options.hpp"
#include "simco/net/tls.hpp"

namespace simco::net {

enum class Transport : std::uint8_t { kTcp, kSctp, kUdp, kQuic };

/// Returns its name, as in the table of transport_type.cpp.
const char* to_string(Transport transport);

/// The settings of all transports: a member for each that has options. Code that only passes on
/// users' choices goes through TransportType::options instead.
struct TransportSettings {
  SctpOptions sctp;
  QuicOptions quic = {};
};

/// How an agent reaches a middlebox.
struct TransportOptions {
  Transport transport = Transport::kTcp;
  TransportSettings settings = {};
  /// Local addresses to use, all of an association (multi-homing, kernel SCTP only); the first is
  /// TCP's. Empty: the system chooses.
  std::vector<std::string> local_addresses;
  /// Transports with TransportType::tls go over TLS with these certificates and keys. Null: they do
  /// not; QUIC, of which TLS is a part, cannot connect then.
  std::shared_ptr<const TlsContext> tls = {};
  /// Host name or address that the middlebox's certificate must be valid for. Empty: the target's
  /// host.
  std::string tls_name = {};
  /// An idle connection is probed every second, also where the settings have longer intervals, and
  /// over TCP it is lost when nothing has been acknowledged for so long. 0: as the settings say;
  /// over TCP, the kernel probes after two hours.
  std::chrono::milliseconds silence_max{0};
};

}  // namespace simco::net
