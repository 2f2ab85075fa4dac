// Reads something long from the kernel piece by piece, between other work of the loop.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>

#include "middlebox/backend/nftables/netlink.hpp"

namespace simco::backend::nftables {

class Dump {
 public:
  explicit Dump(boost::asio::io_context& io);
  Dump(const Dump&) = delete;
  Dump& operator=(const Dump&) = delete;
  ~Dump();

  bool busy() const { return done_ != nullptr; }
  /// Sends `request`, calls `reader` with each message of the answer, kDumpMessagesPerTurn of them
  /// in a turn of the loop, and then `done` with an errno or 0, from inside this call if the
  /// request cannot be sent. Not while busy().
  void start(const MessageBuffer& request, NetlinkSocket::Reader reader,
             std::function<void(int error)> done);
  /// Reads the rest at once, if busy(). `done` is called before this returns.
  void finish();

 private:
  void wait();
  /// Reads as many messages as a turn of the loop allows. False at the end.
  bool advance();
  void end(int error);

  NetlinkSocket socket_;
  boost::asio::posix::stream_descriptor descriptor_;
  NetlinkSocket::Reader reader_;
  std::function<void(int)> done_;
  bool waiting_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace simco::backend::nftables
