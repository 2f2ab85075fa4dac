// An association of the kernel.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <expected>
#include <memory>
#include <optional>

#include "simco/net/sctp/socket.hpp"
#include "simco/net/transport.hpp"

namespace simco::net::sctp {

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
  std::uint16_t outbound_streams() const override;
  std::uint16_t inbound_streams() const override;
  std::string peer_address() const override;
  std::string peer_endpoint() const override;
  TransportStatistics statistics() const override;

 private:
  int fd() const;
  std::optional<boost::asio::ip::tcp::endpoint> peer() const;
  void wait(boost::asio::posix::stream_descriptor::wait_type what, Ready ready);

  boost::asio::posix::stream_descriptor descriptor_;
};

}  // namespace simco::net::sctp
