#include "middlebox/commit/store_thread.hpp"

#include <pthread.h>
#include <signal.h>

#include <utility>

namespace simco::middlebox {
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
