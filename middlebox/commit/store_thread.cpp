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

#include "middlebox/limits.hpp"
#include "simco/wire/assert.hpp"

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
    queued_.push_back({std::move(batch), std::move(done)});
  }
  wake_.notify_one();
}

void StoreThread::follow(std::function<void(store::Changes)> changed,
                         std::function<void(const std::string& why)> failed) {
  SIMCO_ASSERT(!thread_.joinable());
  changed_ = std::move(changed);
  failed_ = std::move(failed);
  launch();
}

void StoreThread::run() {
  if (changed_) follow_store();
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return ending_ || !queued_.empty(); });
    if (queued_.empty()) return;
    const Job job = std::move(queued_.front());
    queued_.pop_front();
    lock.unlock();
    write(job);
    lock.lock();
  }
}

void StoreThread::follow_store() {
  bool failing = false;
  for (bool owned = false; !owned;) {
    try {
      auto changes = store_.follow();
      failing = false;
      owned = changes.owned;
      const bool any = owned || changes.batch.all || !changes.batch.entries.empty();
      if (any)
        tell([this, changes = std::move(changes)]() mutable { changed_(std::move(changes)); });
    } catch (const std::exception& failure) {
      if (!std::exchange(failing, true))
        tell([this, why = std::string(failure.what())] { failed_(why); });
    }
    std::unique_lock lock(mutex_);
    if (wake_.wait_for(lock, failing ? kFollowRetry : std::chrono::milliseconds(),
                       [this] { return ending_; }))
      return;
  }
}

void StoreThread::write(const Job& job) {
  Journal::Failure failure;
  try {
    store_.write(job.batch);
  } catch (const store::StoreTaken& taken) {
    failure = {.what = taken.what(), .taken = true};
  } catch (const store::StoreLost& lost) {
    failure = {.what = lost.what(), .lost = true};
  } catch (const std::exception& other) {
    failure = {.what = other.what()};
  }
  tell([done = job.done, failure = std::move(failure)] { done(failure); });
}

void StoreThread::tell(Report report) {
  const std::lock_guard lock(mutex_);
  reports_.push_back(std::move(report));
  event_.ring();
}

void StoreThread::collect() {
  std::deque<Report> reports;
  {
    const std::lock_guard lock(mutex_);
    reports.swap(reports_);
  }
  for (auto& report : reports) report();
}

}  // namespace simco::middlebox
