// The table of options, with their ranges and help texts, and the check whether they go together.
#include "simco/net/sctp/options.hpp"

#include <array>
#include <type_traits>

#include "simco/net/sctp/limits.hpp"
#include "simco/net/sctp/transport.hpp"

namespace simco::net::sctp {
namespace {

constexpr std::array kStackNames = {"auto", "kernel", "userland"};  // as SctpStack has them
constexpr std::array kSchedulerNames = {"fcfs", "rr"};              // as SctpScheduler has them

template <auto kMember>
std::uint32_t get(const TransportSettings& settings) {
  const auto& value = settings.sctp.*kMember;
  if constexpr (requires { value.count(); }) {
    return static_cast<std::uint32_t>(value.count());
  } else {
    return static_cast<std::uint32_t>(value);
  }
}

template <auto kMember>
void set(TransportSettings& settings, std::uint32_t value) {
  auto& member = settings.sctp.*kMember;
  member = static_cast<std::remove_reference_t<decltype(member)>>(value);
}

using Kind = TransportOption::Kind;

template <auto kMember>
constexpr TransportOption number(const char* name, const char* help, std::uint32_t min,
                                 std::uint32_t max) {
  return {.kind = Kind::kNumber,
          .name = name,
          .help = help,
          .min = min,
          .max = max,
          .get = get<kMember>,
          .set = set<kMember>};
}

template <auto kMember>
constexpr TransportOption flag(const char* name, const char* help) {
  return {
      .kind = Kind::kFlag, .name = name, .help = help, .get = get<kMember>, .set = set<kMember>};
}

template <auto kMember>
constexpr TransportOption choice(const char* name, const char* help,
                                 std::span<const char* const> choices) {
  return {.kind = Kind::kChoice,
          .name = name,
          .help = help,
          .choices = choices,
          .get = get<kMember>,
          .set = set<kMember>};
}

constexpr TransportOption udp_port() {
  auto option = number<&SctpOptions::udp_encaps>(
      "udp-encaps",
      "SCTP: UDP port for encapsulation (RFC 6951); 0: SCTP directly over IP. The kernel's stack "
      "encapsulates only if this is given",
      0, 65'535);
  option.on_given = [](TransportSettings& settings) { settings.sctp.kernel_encaps = true; };
  return option;
}

constexpr TransportOption buffer() {
  auto option = number<&SctpOptions::buffer>(
      "sctp-buffer", "SCTP: send and receive buffer per association, bytes; 0: the stack's default",
      kSctpBufferMin, kSctpBufferMax);
  option.or_zero = true;
  return option;
}

constexpr std::array kOptions = {
    number<&SctpOptions::streams>("streams", "SCTP: number of streams to offer and to accept", 1,
                                  kSctpStreamsMax),
    choice<&SctpOptions::stack>(
        "sctp-stack",
        "SCTP: auto (the kernel's if it has SCTP, otherwise userland), kernel or userland",
        kStackNames),
    udp_port(),
    number<&SctpOptions::rto_initial>("sctp-rto-initial", "SCTP: RTO.Initial, milliseconds", 1,
                                      kSctpTimeMaxMs),
    number<&SctpOptions::rto_min>("sctp-rto-min", "SCTP: RTO.Min, milliseconds", 1, kSctpTimeMaxMs),
    number<&SctpOptions::rto_max>("sctp-rto-max", "SCTP: RTO.Max, milliseconds", 1, kSctpTimeMaxMs),
    number<&SctpOptions::sack_delay>("sctp-sack-delay",
                                     "SCTP: maximum delay of a SACK, milliseconds; 0: send at once",
                                     0, kSctpSackDelayMaxMs),
    flag<&SctpOptions::i_bit>(
        "sctp-i-bit", "SCTP: request immediate SACKs for thin flows (RFC 7053): true or false"),
    number<&SctpOptions::heartbeat>(
        "sctp-heartbeat", "SCTP: heartbeat interval on idle paths, milliseconds; 0: no heartbeats",
        0, kSctpTimeMaxMs),
    choice<&SctpOptions::scheduler>(
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
