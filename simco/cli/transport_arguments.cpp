// Declares the transport options with their ranges, and converts them to the options of simco/net.
#include "simco/cli/transport_arguments.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/asio/ip/address.hpp>

#include "simco/cli/command_line.hpp"
#include "simco/cli/limits.hpp"
#include "simco/cli/values.hpp"
#include "simco/net/limits.hpp"
#include "simco/net/transport_type.hpp"

namespace simco::cli {
void TransportArguments::declare(CLI::App& app, Role role) {
  role_ = role;
  app.option_defaults()->group(kConnectionGroup);
  transports_ = {net::transport_types().front().name};
  const auto names = net::transport_names();
  if (role == Role::kListener) {
    app.add_option("--transport", transports_,
                   "Transports to listen on, one or several, comma-separated: " +
                       net::transport_names(", "))
        ->delimiter(',')
        ->check(one_of(names))
        ->capture_default_str();
  } else {
    app.add_option("--transport", transports_.front(),
                   "Transport to use: " + net::transport_names(" or "))
        ->check(one_of(names))
        ->capture_default_str();
    app.add_option("--bind", bind_,
                   "Local addresses, comma-separated; with the kernel's SCTP, all of them become "
                   "paths of one association (multi-homing)")
        ->delimiter(',');
  }
  declare_sctp(app);
  app.option_defaults()->group(kConnectionGroup);
}

void TransportArguments::declare_tls(CLI::App& app) {
  const bool agent = role_ == Role::kAgent;
  app.option_defaults()->group("TLS");
  app.add_option("--tls-ca", tls_files_.authority,
                 agent ? "Use TLS over TCP and trust this certificate authority (PEM file)"
                       : "Accept TLS on TCP connections and trust this certificate authority for "
                         "agents (PEM file)");
  app.add_option("--tls-certificate", tls_files_.certificate,
                 agent ? "This agent's certificate (PEM file); its name is the agent's name"
                       : "The middlebox's certificate (PEM file)");
  app.add_option("--tls-key", tls_files_.key, "The certificate's private key (PEM file)");
  if (agent) {
    app.add_option("--tls-name", tls_name_,
                   "Name that the middlebox's certificate must have (default: the host in "
                   "--connect)");
  }
  app.option_defaults()->group(kConnectionGroup);
}

std::optional<std::string> TransportArguments::load_tls() {
  if (tls_files_.empty()) {
    return tls_name_.empty() ? std::nullopt : std::optional("--tls-name requires --tls-ca FILE");
  }
  if (role_ == Role::kAgent && !net::type_of(transports().front()).tls) {
    return "--tls-ca, --tls-certificate and --tls-key require --transport tcp";
  }
  const auto side = role_ == Role::kAgent ? net::TlsSide::kAgent : net::TlsSide::kMiddlebox;
  auto loaded = net::TlsContext::load(side, tls_files_);
  if (!loaded) return "--tls-ca, --tls-certificate, --tls-key: " + loaded.error();
  tls_ = std::move(*loaded);
  return std::nullopt;
}

void TransportArguments::declare_sctp(CLI::App& app) {
  app.option_defaults()->group(kExpertGroup);
  app.add_option("--streams", sctp_.streams, "Number of streams to offer and to accept")
      ->check(whole_number(1, net::kSctpStreamsMax))
      ->capture_default_str();
  app.add_option("--sctp-stack", stack_,
                 "auto (the kernel's if it has SCTP, otherwise userland), kernel or userland")
      ->check(one_of({"auto", "kernel", "userland"}))
      ->capture_default_str();
  udp_encaps_ = app.add_option("--udp-encaps", sctp_.udp_encaps,
                               "UDP port for encapsulation (RFC 6951); 0: SCTP directly "
                               "over IP. The kernel's stack encapsulates only if this is given")
                    ->capture_default_str();
  app.add_option("--sctp-rto-initial", rto_initial_ms_, "RTO.Initial, milliseconds")
      ->check(whole_number(1, kHourMs))
      ->capture_default_str();
  app.add_option("--sctp-rto-min", rto_min_ms_, "RTO.Min, milliseconds")
      ->check(whole_number(1, kHourMs))
      ->capture_default_str();
  app.add_option("--sctp-rto-max", rto_max_ms_, "RTO.Max, milliseconds")
      ->check(whole_number(1, kHourMs))
      ->capture_default_str();
  app.add_option("--sctp-sack-delay", sack_delay_ms_,
                 "Maximum delay of a SACK, milliseconds; 0: send at once")
      ->check(whole_number(0, kSackDelayMaxMs))
      ->capture_default_str();
  app.add_option("--sctp-i-bit", sctp_.i_bit,
                 "Request immediate SACKs for thin flows (RFC 7053): true or false")
      ->capture_default_str();
  app.add_option("--sctp-heartbeat", heartbeat_ms_,
                 "Heartbeat interval on idle paths, milliseconds; 0: no heartbeats")
      ->check(whole_number(0, kHourMs))
      ->capture_default_str();
  app.add_option("--sctp-scheduler", scheduler_,
                 "Stream scheduler: fcfs (first come, first served) or rr (round robin)")
      ->check(one_of({"fcfs", "rr"}))
      ->capture_default_str();
  app.add_option("--sctp-buffer", sctp_.buffer,
                 "Send and receive buffer per association, bytes; 0: the stack's default")
      ->check(either(whole_number(kBufferMin, kBufferMax), whole_number(0, 0)))
      ->capture_default_str();
}

std::optional<std::string> TransportArguments::fault() {
  if (rto_min_ms_ > rto_initial_ms_ || rto_initial_ms_ > rto_max_ms_) {
    return "--sctp-rto-min must not exceed --sctp-rto-initial, nor that --sctp-rto-max";
  }
  for (const auto& text : bind_) {
    boost::system::error_code error;
    boost::asio::ip::make_address(text, error);
    if (error) return "--bind: expected an IP address, got '" + text + "'";
  }
  return load_tls();
}

std::vector<net::Transport> TransportArguments::transports() const {
  std::vector<net::Transport> result;
  for (const auto& text : transports_) {
    const auto one = net::find_transport(text);
    if (one && std::ranges::find(result, *one) == result.end()) result.push_back(*one);
  }
  return result;
}

net::SctpOptions TransportArguments::sctp() const {
  auto result = sctp_;
  result.stack = stack_ == "kernel"     ? net::SctpStack::kKernel
                 : stack_ == "userland" ? net::SctpStack::kUserland
                                        : net::SctpStack::kAuto;
  result.scheduler =
      scheduler_ == "rr" ? net::SctpScheduler::kRoundRobin : net::SctpScheduler::kFirstCome;
  result.rto_initial = std::chrono::milliseconds(rto_initial_ms_);
  result.rto_min = std::chrono::milliseconds(rto_min_ms_);
  result.rto_max = std::chrono::milliseconds(rto_max_ms_);
  result.sack_delay = std::chrono::milliseconds(sack_delay_ms_);
  result.heartbeat = std::chrono::milliseconds(heartbeat_ms_);
  result.kernel_encaps = udp_encaps_ != nullptr && udp_encaps_->count() != 0;
  return result;
}

net::TransportOptions TransportArguments::options() const {
  return {transports().front(), sctp(), bind_, tls_, tls_name_};
}

}  // namespace simco::cli
