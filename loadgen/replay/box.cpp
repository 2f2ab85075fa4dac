// Hands connections to the kernel, and writes down what it has read.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>

#include <array>
#include <stdexcept>
#include <string>

#include "loadgen/output_file.hpp"
#include "loadgen/replay/ends.hpp"
#include "loadgen/replay/plan.hpp"
#include "loadgen/replay/sockets.hpp"
#include "loadgen/sip/call.hpp"
#include "loadgen/sip/text.hpp"
#include "simco/net/endpoint.hpp"
#include "simco/net/transport_type.hpp"

namespace simco::loadgen::replay {
namespace {

Descriptor end_signal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  return Descriptor(must(::signalfd(-1, &set, SFD_CLOEXEC), "cannot wait for signals"));
}

/// The arrivals of simco-sip's samples.
std::string arrivals(Plan& plan, std::string_view run) {
  std::string text = "call,arrived_ns,copies,run\n";
  std::uint32_t number = 0;
  for (const auto& message : plan.messages()) {
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
  const auto& sctp = options.settings.sctp;
  const Descriptor device(must(::open(kDevice, O_RDWR | O_CLOEXEC), "this kernel cannot replay"));
  const auto give = [&](const Descriptor& socket) {
    must(::ioctl(device.get(), REPLAY_SERVE, socket.get()), "cannot hand a connection over");
  };
  const auto signals = end_signal();
  const auto socket = listening(transport, sctp, {options.addresses.front(), options.port});
  const bool udp = transport == net::Transport::kUdp;
  if (udp) give(socket);
  fmt::print(stderr, "listening on {} {}\n", to_string(transport),
             net::endpoint_text(options.addresses.front(), options.port));
  std::array<pollfd, 2> events{pollfd{signals.get(), POLLIN, 0},
                               pollfd{udp ? -1 : socket.get(), POLLIN, 0}};
  while (::poll(events.data(), events.size(), -1) > 0 && events[0].revents == 0) {
    give(accepted(socket, transport, sctp));
  }
  Plan plan = Plan::read(device.get());
  std::uint64_t copies = 0;
  for (const auto& message : plan.messages()) {
    if (message.arrived > 1) copies += message.arrived - 1;
  }
  nlohmann::ordered_json totals = nlohmann::ordered_json::object();
  totals[to_string(transport)] = {{"received_duplicate_chunks", plan.is().duplicates}};
  const nlohmann::ordered_json json = {{"copies", copies}, {"transport_stats", totals}};
  for (const auto& written :
       {write_text(settings.samples, arrivals(plan, sip::run_text(plan.is().run))),
        write_text(settings.json, json.dump(1) + "\n")}) {
    if (!written) throw std::runtime_error(written.error());
  }
  return 0;
}

}  // namespace simco::loadgen::replay
