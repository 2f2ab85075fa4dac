// A socket for datagrams that a protocol in this process makes and reads: over UDP, or over IP as a
// protocol of its own. Reads and writes in batches.
#pragma once

#include <sys/socket.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "simco/net/limits.hpp"
#include "simco/wire/ip.hpp"

namespace simco::net {

/// Where a packet comes from, and where it arrived.
struct Path {
  boost::asio::ip::address remote;
  std::uint16_t remote_port = 0;   ///< UDP; 0 over IP
  boost::asio::ip::address local;  ///< unspecified if it does not matter or cannot differ
  friend bool operator==(const Path&, const Path&) = default;
};

/// The address in a structure of the system.
inline boost::asio::ip::udp::endpoint endpoint_of(const void* name, std::size_t size) {
  boost::asio::ip::udp::endpoint endpoint;
  if (size > endpoint.capacity()) return endpoint;
  std::memcpy(endpoint.data(), name, size);
  endpoint.resize(size);
  return endpoint;
}

/// The remote address of `path`, as a Crowd takes it: without its zone.
IpAddress remote_of(const Path& path);

/// Buffers for a batch of packets, shared by all ports of a loop.
class DatagramBatch {
 public:
  DatagramBatch();

 private:
  friend class DatagramPort;
  static constexpr std::size_t kControlSize = 64;

  std::unique_ptr<std::byte[]> octets_;
  std::vector<iovec> parts_;
  std::vector<sockaddr_storage> names_;
  std::vector<std::byte> control_;
  std::vector<mmsghdr> messages_;
};

class DatagramPort final : public std::enable_shared_from_this<DatagramPort> {
 public:
  class User {
   public:
    /// A whole datagram, without the headers of UDP and IP.
    virtual void on_packet(DatagramPort& port, const Path& path,
                           std::span<const std::byte> packet) = 0;
    /// The destination is unreachable (ICMP). Only if ask_for_errors was set.
    virtual void on_unreachable(DatagramPort& port, const Path& path) = 0;
    /// The packets of this turn have been handed out.
    virtual void on_batch_done() = 0;
    /// The queue of send() has emptied after the socket took nothing for a while.
    virtual void on_drained(DatagramPort&) {}

   protected:
    ~User() = default;
  };

  struct Options {
    boost::asio::ip::address local;  ///< may be unspecified
    std::uint16_t udp_port = 0;      ///< 0: any
    std::uint8_t ip_protocol = 0;    ///< over IP, without UDP, as this protocol; 0: over UDP
    bool ask_for_errors = false;     ///< on_unreachable() is wanted
    bool track_local = false;        ///< note the local address of packets, and answer from it

    /// Returns those of a socket over UDP. `listens`: it answers every sender; otherwise it hears
    /// of peers that cannot be reached.
    static Options over_udp(const boost::asio::ip::address& local, std::uint16_t port,
                            bool listens) {
      return {.local = local,
              .udp_port = port,
              .ask_for_errors = !listens,
              .track_local = listens && local.is_unspecified()};
    }
  };

  /// Opens and binds; throws boost::system::system_error. Make it with std::make_shared.
  DatagramPort(const boost::asio::any_io_executor& executor, DatagramBatch& batch,
               const Options& options, User& user);

  /// Begins to read, and continues as long as the port has an owner.
  void start() { wait_readable(); }
  /// Ends all callbacks.
  void stop();

  bool over_ip() const { return options_.ip_protocol != 0; }
  const boost::asio::ip::address& local() const { return options_.local; }
  /// Returns the UDP port in use; 0 over IP.
  std::uint16_t local_port();

  /// Queues a packet for flush().
  void send(const Path& path, std::span<const std::byte> packet);
  void flush();
  /// Returns the octets that the socket has not taken yet.
  std::size_t queued() const { return out_.size(); }

 private:
  struct Outgoing {
    Path path;
    std::size_t size;
  };

  void wait_readable();
  void on_readable();
  /// False when there is nothing more to read.
  bool read_batch();
  void read_errors();
  void take(const mmsghdr& message);
  Path path_of(const msghdr& message) const;
  std::size_t prepare(std::size_t first, std::size_t at);

  boost::asio::posix::stream_descriptor descriptor_;
  DatagramBatch& batch_;
  Options options_;
  User* user_;
  std::vector<std::byte> out_;
  std::vector<Outgoing> packets_;
  bool waiting_writable_ = false;
};

}  // namespace simco::net
