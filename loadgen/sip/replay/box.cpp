// Hands connections to the kernel, and writes down what it has read.
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "loadgen/output_file.hpp"
#include "loadgen/sip/call.hpp"
#include "loadgen/sip/replay/ends.hpp"
#include "loadgen/sip/replay/plan.hpp"
#include "loadgen/sip/text.hpp"
#include "simco/net/bare_socket.hpp"
#include "simco/net/endpoint.hpp"
#include "simco/net/transport_type.hpp"

namespace simco::loadgen::replay {
namespace {

/// A descriptor that is readable at the end.
int end_signal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  return ::signalfd(-1, &set, SFD_CLOEXEC);
}

/// The arrivals of simco-sip's samples.
std::string arrivals(const Plan& plan, std::string_view run) {
  std::string text = "call,arrived_ns,copies,run\n";
  std::uint32_t number = 0;
  for (const auto& message : plan.messages) {
    if (message.arrived != 0) {
      text += fmt::format("{},{},{},{}\n", number, message.arrived_ns, message.arrived, run);
    }
    ++number;
  }
  return text;
}

}  // namespace

int serve(const SipSettings& settings) {
  const auto& options = settings.server.listen;
  const auto transport = options.transports.front();
  const Device device;
  const int signals = end_signal();
  const auto socket = net::BareSocket::listening(options);
  const bool connections = net::type_of(transport).reliable;
  if (!connections) hand_over(device.fd(), REPLAY_SERVE, socket);
  fmt::print(stderr, "listening on {} {}\n", to_string(transport),
             net::endpoint_text(options.addresses.front(), options.port));
  std::array<pollfd, 2> events{pollfd{signals, POLLIN, 0},
                               pollfd{connections ? socket.fd() : -1, POLLIN, 0}};
  while (::poll(events.data(), events.size(), -1) > 0 && events[0].revents == 0) {
    hand_over(device.fd(), REPLAY_SERVE, socket.accepted(options));
  }
  const Plan plan = Plan::read(device.fd());
  std::uint64_t copies = 0;
  for (const auto& message : plan.messages) {
    if (message.arrived > 1) copies += message.arrived - 1;
  }
  nlohmann::ordered_json totals = nlohmann::ordered_json::object();
  totals[to_string(transport)] = {{"received_duplicate_chunks", plan.is.duplicates}};
  const nlohmann::ordered_json json = {{"copies", copies}, {"transport_stats", totals}};
  for (const auto& written :
       {write_text(settings.samples, arrivals(plan, sip::run_text(plan.is.run))),
        write_text(settings.json, json.dump(1) + "\n")}) {
    if (!written) throw std::runtime_error(written.error());
  }
  return 0;
}

}  // namespace simco::loadgen::replay
