// Level two of simco/agent.h: an agent on a thread of its own, and callbacks on the caller's.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "agent/c/simco/agent.h"
#include "agent/driver.hpp"

namespace simco::agent::c {

/// A descriptor that is readable from signal() until clear(). Thread-safe.
class Wakeup {
 public:
  /// Throws std::system_error if the process has no descriptor left.
  Wakeup();
  ~Wakeup();
  Wakeup(const Wakeup&) = delete;
  Wakeup& operator=(const Wakeup&) = delete;
  void signal();
  void clear();
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

/// The event loop that all clients of the process share, on a thread of its own: the userland SCTP
/// stack is bound to one loop. It starts with the first client and stops with the last.
class Loop {
 public:
  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  /// The loop of the process. Thread-safe.
  static std::shared_ptr<Loop> shared();
  boost::asio::io_context& io() { return io_; }

 private:
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::thread thread_;
};

}  // namespace simco::agent::c

/// The C handle. Members are called from the caller's thread, except those that begin with on_,
/// which run on the loop's.
struct simco_client {
 public:
  simco_client(const simco::agent::AgentOptions& options, const simco_callbacks& callbacks,
               void* user);
  ~simco_client();
  simco_client(const simco_client&) = delete;
  simco_client& operator=(const simco_client&) = delete;

  int open(const std::string& middlebox);
  int submit(const simco_request& request, simco_reply_cb done, void* user);
  int close();
  int reconnect(simco_change_cb on_change);
  int hold(const simco_request& request, simco_reply_cb done, simco_lost_cb lost, void* user);
  int release(std::uint32_t pid);
  std::size_t dispatch();
  int descriptor() const { return wakeup_.descriptor(); }
  const char* error_text() const { return error_text_.c_str(); }

 private:
  using Callback = std::move_only_function<void()>;

  /// Has `callback` run by the next dispatch().
  void post_callback(Callback callback);
  void end_session(const boost::system::error_code& reason);
  void on_opened(const boost::system::error_code& error, const simco::agent::Outcome& outcome);
  void on_event(const boost::system::error_code& error, const simco::agent::Outcome& outcome);
  void on_await_event();
  void on_replied(simco_reply_cb done, void* user, const boost::system::error_code& error,
                  const simco::agent::Outcome& outcome);
  void on_held(simco_lost_cb lost, void* user, const simco::agent::Outcome& outcome);
  void on_let_go(simco::PolicyRuleId pid);

  enum class State { kClosed, kOpening, kOpen };

  simco_callbacks callbacks_;
  void* user_;
  State state_ = State::kClosed;  ///< as the caller knows it
  std::string error_text_;
  simco::agent::c::Wakeup wakeup_;
  std::mutex mutex_;
  std::vector<Callback> due_;   ///< guarded by mutex_
  std::size_t events_due_ = 0;  ///< rule events among them; guarded by mutex_
  std::shared_ptr<simco::agent::c::Loop> loop_;
  std::shared_ptr<simco::agent::Driver> driver_;
};
