#include "simco/log/line_writer.hpp"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "simco/log/limits.hpp"

namespace simco {
namespace {

void write_all(int descriptor, std::string_view octets) {
  while (!octets.empty()) {
    const auto done = ::write(descriptor, octets.data(), octets.size());
    if (done >= 0) {
      octets.remove_prefix(static_cast<std::size_t>(done));
    } else if (errno == EAGAIN) {
      // Another process that shares it has made it non-blocking.
      pollfd ready{descriptor, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return;  // closed at the other end
    }
  }
}

}  // namespace

struct LineWriter::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::string queued;
  bool writing = false;
  bool ending = false;
};

LineWriter::LineWriter(int descriptor, const std::function<void()>& begin)
    : shared_(std::make_shared<Shared>()) {
  // Signals are the loop's.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([shared = shared_, descriptor, begin] {
    if (begin) begin();
    run(*shared, descriptor);
  }).detach();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

LineWriter::~LineWriter() {
  std::unique_lock lock(shared_->mutex);
  shared_->ending = true;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, kLogPatience,
                            [this] { return shared_->queued.empty() && !shared_->writing; });
}

bool LineWriter::put(std::string line) {
  {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->queued.size() + line.size() > kLogQueueOctets) return false;
    shared_->queued += line;
  }
  shared_->changed.notify_all();
  return true;
}

void LineWriter::run(Shared& shared, int descriptor) {
  std::string taken;
  std::unique_lock lock(shared.mutex);
  for (;;) {
    shared.changed.wait(lock, [&] { return shared.ending || !shared.queued.empty(); });
    if (shared.queued.empty()) return;
    taken.clear();
    std::swap(taken, shared.queued);
    shared.writing = true;
    lock.unlock();
    write_all(descriptor, taken);
    lock.lock();
    shared.writing = false;
    shared.changed.notify_all();
  }
}

}  // namespace simco
