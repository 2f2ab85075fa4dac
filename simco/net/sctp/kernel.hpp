// The kernel's SCTP (lksctp) through one-to-one sockets, RFC 6458 section 4.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "simco/net/listener.hpp"
#include "simco/net/sctp/socket.hpp"
#include "simco/net/transport.hpp"

namespace simco::net::sctp {

/// Whether this kernel has SCTP. Asking loads the module where that is possible.
bool kernel_has_sctp();
/// Whether these options mean the kernel's stack on this machine.
bool use_kernel(const SctpOptions& options);
/// UDP port of the kernel's own encapsulation in this network namespace (sysctl
/// net.sctp.udp_port); 0: off, or too old for it.
std::uint16_t kernel_udp_port();

/// Whether the kernel gives associations the buffers that `options` ask for.
bool kernel_grants_buffers(const SctpOptions& options);

/// Begins an association with the peer that has all of `addresses`, from all of `local` (empty:
/// any). The first Input is kConnected or kError.
std::expected<std::unique_ptr<Socket>, boost::system::error_code> connect_kernel(
    const boost::asio::any_io_executor& executor,
    const std::vector<boost::asio::ip::address>& addresses, std::uint16_t port,
    const std::vector<boost::asio::ip::address>& local, const SctpOptions& options);

/// Listens with an endpoint on all of `addresses`. Throws boost::system::system_error on failure.
std::unique_ptr<Listener> listen_kernel(const boost::asio::any_io_executor& executor,
                                        const std::vector<boost::asio::ip::address>& addresses,
                                        std::uint16_t port, const SctpOptions& options,
                                        ReadBuffer& read_buffer, Listener::OnAccept on_accept,
                                        Listener::OnError on_error);

/// Options that the system has to grant; refused options stay as they are.
void set_kernel_options(int fd, const SctpOptions& options);
/// A non-blocking one-to-one socket with `options`, of which those of the initiation count from
/// the start only.
std::expected<int, boost::system::error_code> open_kernel_socket(int family,
                                                                 const SctpOptions& options);

class KernelSocket final : public Socket {
 public:
  /// Takes a descriptor of open_kernel_socket(), or accepted from such a socket.
  KernelSocket(const boost::asio::any_io_executor& executor, int fd);
  ~KernelSocket() override;

  boost::asio::any_io_executor get_executor() override { return descriptor_.get_executor(); }
  Input receive(std::span<std::byte> buffer) override;
  boost::system::error_code send(std::span<const std::byte> message, Delivery delivery,
                                 Sending sending) override;
  void flush() override {}
  void wait_readable(Ready ready) override;
  void wait_writable(Ready ready) override;
  void shutdown() override;
  void close() override;
  void abort() override;
  Ends ends() const override;
  TransportStatistics statistics() const override;

 private:
  int fd() const;
  void wait(boost::asio::posix::stream_descriptor::wait_type what, Ready ready);

  boost::asio::posix::stream_descriptor descriptor_;
};

}  // namespace simco::net::sctp
