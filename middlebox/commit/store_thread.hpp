// Writes to a store from a separate thread, so that the loop does not block.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "middlebox/commit/journal.hpp"
#include "middlebox/store/store.hpp"

namespace simco::middlebox {

/// Wakes the loop from another thread. The loop has no locks of its own, so that thread cannot post
/// to it: an eventfd does it.
class LoopEvent {
 public:
  /// `rung` is called from the loop, once for all calls of ring() since. Throws std::system_error
  /// if there are no more descriptors.
  LoopEvent(boost::asio::io_context& io, std::function<void()> rung);
  LoopEvent(const LoopEvent&) = delete;
  LoopEvent& operator=(const LoopEvent&) = delete;

  /// For any thread.
  void ring();

 private:
  void wait();

  std::function<void()> rung_;
  boost::asio::posix::stream_descriptor descriptor_;
};

/// Used from the loop's thread. Owns the use of the store from construction to destruction. Its
/// thread begins with the first write(), so that it has the reduced privileges of the running
/// program.
class StoreThread final : public Journal::Writer {
 public:
  StoreThread(boost::asio::io_context& io, store::Store& store);
  StoreThread(const StoreThread&) = delete;
  StoreThread& operator=(const StoreThread&) = delete;
  /// Writes the queue, without further callbacks.
  ~StoreThread();

  /// Calls `done` from the loop.
  void write(store::Batch batch, Done done) override;
  /// Follows the store until it is ours, before the first write(). Calls `changed` from the loop,
  /// and `failed` when following begins to fail, which is tried again.
  void follow(std::function<void(store::Changes)> changed,
              std::function<void(const std::string& why)> failed);

 private:
  struct Job {
    store::Batch batch;
    Done done;
  };
  using Report = std::move_only_function<void()>;

  void launch();
  void run();
  /// Returns when the store is ours, or at the end.
  void follow_store();
  void write(const Job& job);
  /// Has the loop call `report`.
  void tell(Report report);
  void collect();

  store::Store& store_;
  std::function<void(store::Changes)> changed_;  ///< of follow()
  std::function<void(const std::string&)> failed_;
  LoopEvent event_;  ///< there are reports
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> queued_;
  std::deque<Report> reports_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace simco::middlebox
