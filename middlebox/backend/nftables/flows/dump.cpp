#include "middlebox/backend/nftables/flows/dump.hpp"

#include <poll.h>

#include <boost/asio/post.hpp>
#include <system_error>
#include <utility>

#include "middlebox/backend/nftables/limits.hpp"
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
  try {
    socket_.send(request);
  } catch (const std::system_error& failure) {
    return end(failure.code().value());
  }
  wait();
}

void Dump::wait() {
  if (waiting_) return;
  waiting_ = true;
  const auto go_on = [this, alive = alive_](const boost::system::error_code& error) {
    if (error || !*alive) return;
    waiting_ = false;
    if (busy() && advance()) wait();
  };
  if (socket_.has_unread()) {
    boost::asio::post(descriptor_.get_executor(), [go_on] { go_on({}); });
  } else {
    descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read, go_on);
  }
}

bool Dump::advance() {
  int error = 0;
  try {
    if (socket_.read_some(reader_, kDumpMessagesPerTurn, error)) return true;
  } catch (const std::system_error& failure) {
    error = failure.code().value();
  }
  end(error);
  return false;
}

// The callback may start the next dump.
void Dump::end(int error) {
  reader_ = nullptr;
  std::exchange(done_, nullptr)(error);
}

void Dump::finish() {
  while (busy()) {
    pollfd ready{socket_.descriptor(), POLLIN, 0};
    if (!socket_.has_unread()) ::poll(&ready, 1, -1);
    if (!advance()) return;
  }
}

}  // namespace simco::backend::nftables
