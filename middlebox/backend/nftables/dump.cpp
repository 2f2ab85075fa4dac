#include "middlebox/backend/nftables/dump.hpp"

#include <poll.h>

#include <utility>

#include "simco/wire/assert.hpp"

namespace simco::backend::nftables {

Dump::Dump(boost::asio::io_context& io) : descriptor_(io, socket_.descriptor()) {}

Dump::~Dump() {
  *alive_ = false;
  descriptor_.release();  // the socket closes it
}

void Dump::start(const MessageBuffer& request, NetlinkSocket::Reader reader,
                 std::function<void(int)> done) {
  SIMCO_ASSERT(!busy());
  reader_ = std::move(reader);
  done_ = std::move(done);
  socket_.send(request);
  wait();
}

void Dump::wait() {
  if (waiting_) return;
  waiting_ = true;
  descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                         [this, alive = alive_](const boost::system::error_code& error) {
                           if (error || !*alive) return;
                           waiting_ = false;
                           if (busy() && advance()) wait();
                         });
}

bool Dump::advance() {
  int error = 0;
  if (socket_.read_some(reader_, error)) return true;
  // What is called may start the next dump.
  const auto done = std::exchange(done_, nullptr);
  reader_ = nullptr;
  done(error);
  return false;
}

void Dump::finish() {
  while (busy()) {
    pollfd ready{socket_.descriptor(), POLLIN, 0};
    ::poll(&ready, 1, -1);
    if (!advance()) return;
  }
}

}  // namespace simco::backend::nftables
