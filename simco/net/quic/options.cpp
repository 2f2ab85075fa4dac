// The table of options, with their ranges and help texts, and the check whether they go together.
#include <array>

#include "simco/library/optional.hpp"
#include "simco/net/error.hpp"
#include "simco/net/quic/credentials.hpp"
#include "simco/net/quic/limits.hpp"
#include "simco/net/transport_option.hpp"
#include "simco/net/transports.hpp"

namespace simco::net::quic {
namespace {

constexpr std::array kCongestionNames = {"bbr", "cubic"};  // as QuicCongestion has them

using Make = OptionMaker<&TransportSettings::quic>;

constexpr std::array kQuicOptions = {
    Make::choice<&QuicOptions::congestion>(
        "quic-congestion",
        "QUIC: congestion control: bbr (from the delivery rate) or cubic (RFC 9438)",
        kCongestionNames),
    Make::number<&QuicOptions::ack_delay>(
        "quic-ack-delay",
        "QUIC: maximum delay of an acknowledgement, milliseconds; 0: none is delayed", 0,
        kAckDelayMaxMs),
    Make::number<&QuicOptions::initial_rtt>(
        "quic-initial-rtt", "QUIC: round-trip time assumed until it is measured, milliseconds", 1,
        kInitialRttMaxMs),
    Make::number<&QuicOptions::idle_timeout>(
        "quic-idle-timeout",
        "QUIC: time without packets from the peer after which a connection is over, milliseconds",
        1, kTimeMaxMs),
    Make::number<&QuicOptions::keep_alive>(
        "quic-keep-alive",
        "QUIC: time without packets after which an agent sends a PING, milliseconds; 0: never", 0,
        kTimeMaxMs),
};

}  // namespace

std::span<const TransportOption> options() { return kQuicOptions; }

std::optional<std::string> fault_in(const TransportSettings& settings) {
  if (settings.quic.keep_alive < settings.quic.idle_timeout) return std::nullopt;
  return "--quic-keep-alive must be below --quic-idle-timeout";
}

std::optional<std::string> fault_in_use(const TransportSettings&, const TlsContext* tls) {
  if (const char* fault = library::fault_in(simco_load_quic)) return fault;
  if (tls == nullptr) return std::string(to_string(NetError::kQuicCertificates));
  if (!tls->quic()) return tls->quic().error();
  return std::nullopt;
}

}  // namespace simco::net::quic
