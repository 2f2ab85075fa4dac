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

void StoreThread::leave() {
  const std::lock_guard lock(mutex_);
  leaves_ = true;
}

void StoreThread::write(store::Batch batch, Done done) {
  if (!thread_.joinable()) launch();
  {
    const std::lock_guard lock(mutex_);
    queued_.push_back({std::move(batch), std::move(done)});
  }
  wake_.notify_one();
}

void StoreThread::watch(Observer& observer, bool follow) {
  SIMCO_ASSERT(!thread_.joinable());
  observer_ = &observer;
  follow_first_ = follow;
  launch();
}

void StoreThread::run() {
  if (follow_first_) follow();
  std::unique_lock lock(mutex_);
  for (;;) {
    const bool work =
        wake_.wait_for(lock, kStoreVerifyPause, [this] { return ending_ || !queued_.empty(); });
    if (work && queued_.empty()) return leaves_ ? store_.leave() : void();
    Job job;
    if (work) {
      job = std::move(queued_.front());
      queued_.pop_front();
    }
    lock.unlock();
    work ? write(job) : verify();
    lock.lock();
  }
}

void StoreThread::follow() {
  for (;;) {
    auto pause = std::chrono::milliseconds();
    try {
      if (follow_once()) return;
    } catch (const std::exception& why) {
      note_following(why.what());
      pause = kFollowRetry;
    }
    std::unique_lock lock(mutex_);
    if (wake_.wait_for(lock, pause, [this] { return ending_; })) return;
  }
}

bool StoreThread::follow_once() {
  auto changes = store_.follow();
  const bool owned = changes.owned;
  const bool current = changes.current;
  if (!current) {
    note_following(store_.place() +
                   ": the replica has no connection to its primary, and may be behind; check the "
                   "link, replicaof and masterauth");
  }
  // One at a time: a loop that is slow is not given more.
  const bool alike = carry_out(std::move(changes));
  if (!owned && current) confirm(alike);
  return owned;
}

void StoreThread::confirm(bool alike) {
  if (!alike) return note_following("this box cannot enforce all rules of the other one");
  try {
    const auto until = store_.confirm();
    if (!until)
      return note_following("it has not caught up, or has no answer of the other box yet");
    if (std::exchange(lease_, *until) != *until) {
      tell([this, until = *until] { observer_->on_lease(until); });
    }
    note_following(std::nullopt);
  } catch (const store::StoreError& why) {
    note_following(why.what());
  }
}

void StoreThread::note_following(const std::optional<std::string>& failure) {
  if (following_fails_ == failure) return;
  following_fails_ = failure;
  tell([this, failure] { observer_->on_following(failure); });
}

void StoreThread::verify() {
  if (observer_ == nullptr) return;
  try {
    store_.verify();
  } catch (const store::StoreTaken& taken) {
    tell([this, why = std::string(taken.what())] { observer_->on_seen_taken(why); });
  } catch (const store::StoreLost&) {
    tell([this] { observer_->on_seen_lost(); });
  } catch (const std::exception&) {
    // The next write will tell.
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
  for (auto& warning : store_.take_warnings()) {
    if (observer_ == nullptr) break;
    tell([this, warning = std::move(warning)] { observer_->on_warning(warning); });
  }
}

void StoreThread::tell(Report report) {
  const std::lock_guard lock(mutex_);
  reports_.push_back(std::move(report));
  event_.ring();
}

bool StoreThread::carry_out(store::Changes changes) {
  tell([this, changes = std::move(changes)]() mutable {
    observer_->on_changed(std::move(changes), [this](bool alike) {
      const std::lock_guard lock(mutex_);
      alike_ = alike;
      wake_.notify_one();
    });
  });
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] { return ending_ || alike_; });
  return std::exchange(alike_, std::nullopt).value_or(false);
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
