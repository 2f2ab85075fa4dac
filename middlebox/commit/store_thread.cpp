// The event that wakes the loop, and the thread that writes.
#include "middlebox/commit/store_thread.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

namespace simco::middlebox {
namespace {

int make_event() {
  const int descriptor = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (descriptor < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  return descriptor;
}

}  // namespace

LoopEvent::LoopEvent(boost::asio::io_context& io, std::function<void()> rung)
    : rung_(std::move(rung)), descriptor_(io, make_event()) {
  wait();
}

void LoopEvent::ring() {
  const std::uint64_t one = 1;
  // Cannot fail: the counter is far from its end.
  [[maybe_unused]] const auto written = ::write(descriptor_.native_handle(), &one, sizeof one);
}

void LoopEvent::wait() {
  descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                         [this](const boost::system::error_code& error) {
                           if (error) return;
                           std::uint64_t count = 0;
                           [[maybe_unused]] const auto read =
                               ::read(descriptor_.native_handle(), &count, sizeof count);
                           rung_();
                           wait();
                         });
}

StoreThread::StoreThread(boost::asio::io_context& io, store::Store& store)
    : store_(store), event_(io, [this] { collect(); }) {}

void StoreThread::launch() {
  // Signals are the loop's.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

StoreThread::~StoreThread() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void StoreThread::write(store::Batch batch, Done done) {
  if (!thread_.joinable()) launch();
  {
    const std::lock_guard lock(mutex_);
    queued_.push_back({std::move(batch), std::move(done), {}});
  }
  wake_.notify_one();
}

void StoreThread::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return ending_ || !queued_.empty(); });
    if (queued_.empty()) return;
    Job job = std::move(queued_.front());
    queued_.pop_front();
    lock.unlock();
    try {
      store_.write(job.batch);
    } catch (const store::StoreTaken& taken) {
      job.failure = {.what = taken.what(), .taken = true};
    } catch (const store::StoreLost& lost) {
      job.failure = {.what = lost.what(), .lost = true};
    } catch (const std::exception& failure) {
      job.failure = {.what = failure.what()};
    }
    lock.lock();
    finished_.push_back(std::move(job));
    event_.ring();
  }
}

void StoreThread::collect() {
  std::deque<Job> finished;
  {
    const std::lock_guard lock(mutex_);
    finished.swap(finished_);
  }
  for (const Job& job : finished) job.done(job.failure);
}

}  // namespace simco::middlebox
