// Hands connections to the kernel.
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

#include <array>

#include "loadgen/replay/ends.hpp"
#include "loadgen/replay/plan.hpp"
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

}  // namespace

Plan serve(const net::ListenOptions& options,
           const std::function<void(const net::BareSocket&)>& welcome) {
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
    const auto connection = socket.accepted(options);
    welcome(connection);
    hand_over(device.fd(), REPLAY_SERVE, connection);
  }
  return Plan::read(device.fd());
}

}  // namespace simco::loadgen::replay
