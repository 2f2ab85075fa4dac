// Writes to a store from a separate thread, so that the loop does not block.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "middlebox/commit/following.hpp"
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
  /// Has the store left at the end, by Store::leave().
  void leave();
  /// Learns what happens to the store, from the loop.
  class Observer {
   public:
    /// Of a store that is followed: `done` must be called once, from the loop, when they are
    /// carried out.
    virtual void on_changed(store::Changes changes, Following::Done done) = 0;
    /// Until when packets may pass by the rules of that store.
    virtual void on_lease(Instant until) = 0;
    /// Following begins to fail, which is tried again; nullopt: it works again.
    virtual void on_following(const std::optional<std::string>& failure) = 0;
    /// The store was seen to have lost data, as the next write will find.
    virtual void on_seen_lost() = 0;
    /// A line for the log.
    virtual void on_warning(const std::string& what) = 0;
    /// Another middlebox was seen to have claimed the store, or the store to be a copy.
    virtual void on_seen_taken(const std::string& why) = 0;

   protected:
    ~Observer() = default;
  };
  /// Tells `observer` from now on. `follow`: follows the store first, until it is ours. Before the
  /// first write().
  void watch(Observer& observer, bool follow);

 private:
  struct Job {
    store::Batch batch;
    Done done;
  };
  using Report = std::move_only_function<void()>;

  void launch();
  void run();
  /// Returns when the store is ours, or at the end.
  void follow();
  /// Returns true if the store is ours.
  bool follow_once();
  /// All that was followed is carried out; `alike`: it is enforced.
  void confirm(bool alike);
  void note_following(const std::optional<std::string>& failure);
  /// Sees that the store is still ours.
  void verify();
  void write(const Job& job);
  /// Has the loop call `report`.
  void tell(Report report);
  /// Has the loop carry out `changes`. Returns whether they are enforced, or false at the end.
  bool carry_out(store::Changes changes);
  void collect();

  store::Store& store_;
  Observer* observer_ = nullptr;
  bool follow_first_ = false;
  /// Why it does, as the observer knows; at first nothing is known.
  std::optional<std::string> following_fails_ = "";
  Instant lease_{};  ///< as the loop knows it
  LoopEvent event_;  ///< there are reports
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> queued_;
  std::deque<Report> reports_;
  bool leaves_ = false;
  bool ending_ = false;
  std::optional<bool> alike_;  ///< what carry_out() waits for
  std::thread thread_;
};

}  // namespace simco::middlebox
