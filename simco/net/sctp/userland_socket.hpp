// SCTP in this process (usrsctp), over UDP (RFC 6951) or, with CAP_NET_RAW, directly over IP: an
// association, and its listener.
//
// usrsctp has its state once per process, so it serves one event loop: that of the executor that
// uses it first, until its execution context is gone. Everything happens on that loop; usrsctp's
// locks are never contended.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <expected>
#include <memory>
#include <vector>

#include "simco/net/listener.hpp"
#include "simco/net/sctp/socket.hpp"
#include "simco/net/sctp/userland_stack.hpp"

struct socket;  // usrsctp's

namespace simco::net::sctp {

/// Returns a non-blocking socket of usrsctp with `options`, or null with errno.
struct socket* open_userland_socket(const SctpOptions& options);
/// The receive buffer of an association, and its setter: associations of a listening socket inherit
/// it.
std::uint32_t receive_buffer(const SctpOptions& options);
void set_receive_buffer(struct socket* socket, std::uint32_t octets);
/// SCTP port that `socket` is bound to; 0: none.
std::uint16_t local_sctp_port(struct socket* socket);

class UserlandSocket final : public Socket {
 public:
  /// Takes a socket of usrsctp and a hold on its peer. `window`: the receive buffer that
  /// open_window() gives it; 0: no change.
  UserlandSocket(UserlandStack& stack, struct socket* socket, PeerId peer,
                 std::uint32_t window = 0);
  ~UserlandSocket() override;

  boost::asio::any_io_executor get_executor() override { return executor_; }
  Input receive(std::span<std::byte> buffer) override;
  boost::system::error_code send(std::span<const std::byte> message, Delivery delivery,
                                 Sending sending) override;
  void flush() override;
  void wait_readable(Ready ready) override;
  void wait_writable(Ready ready) override;
  void open_window() override;
  void shutdown() override;
  void close() override;
  void abort() override;
  Ends ends() const override;
  TransportStatistics statistics() const override;

  /// Sends the INIT through `port`.
  boost::system::error_code connect(const DatagramPort& port);
  /// Called when its turn has come: completes pending waits.
  void on_ready();
  /// The peer of that path is unreachable (ICMP).
  void on_unreachable(const DatagramPort& port, const Path& path);
  /// The stack goes away before we do.
  void lose_stack();

 private:
  static void upcall(struct socket* socket, void* self, int flags);
  void set_bundling(bool on);
  void let_go();

  boost::asio::any_io_executor executor_;
  UserlandStack* stack_;
  struct socket* socket_;
  PeerId peer_;
  std::uint32_t window_;
  const DatagramPort* client_port_ = nullptr;  ///< null: the association was accepted
  Ready readable_;
  Ready writable_;
  bool drained_ = false;  ///< receive() had nothing; the upcall will come
  bool ready_ = false;    ///< on the stack's list
  bool connecting_ = false;
  bool unreachable_ = false;
  bool bundling_ = false;  ///< Nagle's algorithm is on
};

class UserlandListener final : public Listener {
 public:
  UserlandListener(UserlandStack& stack, std::vector<std::shared_ptr<DatagramPort>> ports,
                   struct socket* socket, std::uint16_t sctp_port, const SctpOptions& options,
                   ReadBuffer& read_buffer, OnAccept on_accept, OnError on_error);
  ~UserlandListener() override;

  void stop() override;
  Transport transport() const override { return Transport::kSctp; }
  std::uint16_t port() const override { return sctp_port_; }
  std::vector<std::string> endpoints() const override;

  /// Takes the associations that usrsctp has accepted.
  void accept();
  /// Hands on accept()'s associations at the end of a turn.
  void hand_over();
  void lose_stack();

 private:
  static void upcall(struct socket* socket, void* self, int flags);
  void take(std::unique_ptr<Socket> socket);

  UserlandStack* stack_;
  std::vector<std::shared_ptr<DatagramPort>> ports_;
  struct socket* socket_;
  std::uint16_t sctp_port_;
  SctpOptions options_;
  ReadBuffer& read_buffer_;
  OnAccept on_accept_;
  OnError on_error_;
  std::vector<std::unique_ptr<Socket>> accepted_;
  bool ready_ = false;
};

/// Begins an association. The first Input is kConnected or kError.
std::expected<std::unique_ptr<Socket>, boost::system::error_code> connect_userland(
    const boost::asio::any_io_executor& executor, const boost::asio::ip::address& address,
    std::uint16_t port, const SctpOptions& options);

/// Listens on `port` behind the UDP port of `options` (or over IP) of each address. Throws
/// boost::system::system_error on failure.
std::unique_ptr<Listener> listen_userland(const boost::asio::any_io_executor& executor,
                                          const std::vector<boost::asio::ip::address>& addresses,
                                          std::uint16_t port, const SctpOptions& options,
                                          ReadBuffer& read_buffer, Listener::OnAccept on_accept,
                                          Listener::OnError on_error);

}  // namespace simco::net::sctp
