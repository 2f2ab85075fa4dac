// Sockets as the channels of simco/net set them up, for a kernel that does the rest.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "simco/net/transport.hpp"

namespace simco::loadgen::replay {

/// A file descriptor of its own.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();
  int get() const { return fd_; }

 private:
  int fd_;
};

/// Throws std::runtime_error: what could not be done, and the system's reason.
[[noreturn]] void fail(const std::string& what);
/// As fail(), if a result of the system is below 0; else returns it.
int must(int result, const std::string& what);

/// An IPv4 address as text, and a port.
struct Place {
  std::string address;
  std::uint16_t port = 0;
};

/// Connects over TCP, the kernel's SCTP or UDP.
Descriptor connected(const net::TransportOptions& options, const Place& to);
/// Listens; over UDP the socket is the only one.
Descriptor listening(net::Transport transport, const net::SctpOptions& options, const Place& at);
/// The next connection of listening(), over TCP or SCTP.
Descriptor accepted(const Descriptor& from, net::Transport transport,
                    const net::SctpOptions& options);
/// The local end of a socket.
Place local_place(const Descriptor& socket);
/// Ends it in order: waits until the peer has ended it as well, for net::kCloseTimeout at most.
void end(const Descriptor& socket);
/// Streams of an association towards the peer; 1 over other transports.
std::uint16_t streams(const Descriptor& socket, net::Transport transport);
/// The transport's figures that the laboratory reads.
nlohmann::ordered_json figures(const Descriptor& socket, net::Transport transport);

}  // namespace simco::loadgen::replay
