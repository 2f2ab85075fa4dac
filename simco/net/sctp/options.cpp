// The table of options, with their ranges and help texts, and the check whether they go together.
#include "simco/net/sctp/options.hpp"

#include <algorithm>
#include <array>

#include "simco/net/quic/limits.hpp"
#include "simco/net/sctp/limits.hpp"
#include "simco/net/transport_option.hpp"
#include "simco/net/transport_type.hpp"
#include "simco/net/transports.hpp"

namespace simco::net::sctp {
namespace {

constexpr std::array kStackNames = {"auto", "kernel", "userland"};  // as SctpStack has them
constexpr std::array kSchedulerNames = {"fcfs", "rr"};              // as SctpScheduler has them

using Make = OptionMaker<&TransportSettings::sctp>;

// The number of streams belongs to all transports with streams.
constexpr TransportOption streams() {
  auto option = Make::number<&SctpOptions::streams>(
      "streams", "Number of streams to offer and to accept (QUIC: 1024 at most)", 1,
      kSctpStreamsMax);
  option.ability = &TransportType::streams;
  option.set = [](TransportSettings& settings, std::uint32_t value) {
    settings.sctp.streams = static_cast<std::uint16_t>(value);
    settings.quic.streams =
        static_cast<std::uint16_t>(std::min(value, std::uint32_t{quic::kStreamsMax}));
  };
  return option;
}

constexpr TransportOption udp_port() {
  auto option = Make::number<&SctpOptions::udp_encaps>(
      "udp-encaps",
      "SCTP: UDP port for encapsulation (RFC 6951); 0: SCTP directly over IP. The kernel's stack "
      "encapsulates only if this is given",
      0, 65'535);
  option.on_given = [](TransportSettings& settings) { settings.sctp.kernel_encaps = true; };
  return option;
}

constexpr TransportOption buffer() {
  auto option = Make::number<&SctpOptions::buffer>(
      "sctp-buffer", "SCTP: send and receive buffer per association, bytes; 0: the stack's default",
      kSctpBufferMin, kSctpBufferMax);
  option.or_zero = true;
  return option;
}

constexpr std::array kOptions = {
    streams(),
    Make::choice<&SctpOptions::stack>(
        "sctp-stack",
        "SCTP: auto (the kernel's if it has SCTP, otherwise userland), kernel or userland",
        kStackNames),
    udp_port(),
    Make::number<&SctpOptions::rto_initial>("sctp-rto-initial", "SCTP: RTO.Initial, milliseconds",
                                            1, kSctpTimeMaxMs),
    Make::number<&SctpOptions::rto_min>("sctp-rto-min", "SCTP: RTO.Min, milliseconds", 1,
                                        kSctpTimeMaxMs),
    Make::number<&SctpOptions::rto_max>("sctp-rto-max", "SCTP: RTO.Max, milliseconds", 1,
                                        kSctpTimeMaxMs),
    Make::number<&SctpOptions::sack_delay>(
        "sctp-sack-delay", "SCTP: maximum delay of a SACK, milliseconds; 0: send at once", 0,
        kSctpSackDelayMaxMs),
    Make::flag<&SctpOptions::i_bit>(
        "sctp-i-bit", "SCTP: request immediate SACKs for thin flows (RFC 7053): true or false"),
    Make::number<&SctpOptions::heartbeat>(
        "sctp-heartbeat", "SCTP: heartbeat interval on idle paths, milliseconds; 0: no heartbeats",
        0, kSctpTimeMaxMs),
    Make::choice<&SctpOptions::scheduler>(
        "sctp-scheduler",
        "SCTP: stream scheduler: fcfs (first come, first served) or rr (round robin)",
        kSchedulerNames),
    buffer(),
};

}  // namespace

std::span<const TransportOption> options() { return kOptions; }

std::optional<std::string> fault_in(const TransportSettings& settings) {
  const auto& sctp = settings.sctp;
  if (sctp.rto_min <= sctp.rto_initial && sctp.rto_initial <= sctp.rto_max) return std::nullopt;
  return "--sctp-rto-min must not exceed --sctp-rto-initial, nor that --sctp-rto-max";
}

}  // namespace simco::net::sctp
