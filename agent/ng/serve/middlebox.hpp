// The session of simco-ng with the middlebox: opened until that succeeds, and again whenever it is
// lost.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "agent/ng/call/call_host.hpp"
#include "agent/options.hpp"
#include "simco/net/endpoint.hpp"

namespace simco::agent {
class Driver;
}

namespace simco::ng {

/// Must be destroyed after the loop has stopped.
class Middlebox {
 public:
  /// Called from the loop, never from inside a call to the middlebox; only results follow stop().
  class User {
   public:
    virtual void on_session(const Capabilities& capabilities) = 0;
    virtual void on_session_lost() = 0;
    virtual void on_result(std::uint64_t transaction, const SimcoResult& result) = 0;
    virtual void on_rule_event(PolicyRuleId pid, Lifetime lifetime) = 0;

   protected:
    ~User() = default;
  };

  Middlebox(boost::asio::io_context& io, net::HostPort where, const agent::AgentOptions& options,
            User& user);

  void start();
  /// Ends the session; rules stay until their lifetimes end. Calls `done` after that.
  void stop(std::function<void()> done);
  bool is_open() const { return open_; }
  /// Sends a request, or keeps it until there is a session again. on_result() follows.
  void send(std::uint64_t transaction, const Body& request, std::optional<PolicyRuleId> rule);

 private:
  void on_change(const boost::system::error_code& reason);
  void next_event();

  boost::asio::io_context& io_;
  net::HostPort where_;
  User& user_;
  std::shared_ptr<agent::Driver> driver_;
  bool open_ = false;
  bool reported_ = false;  ///< how the first attempt to open a session has ended
  bool stopping_ = false;
};

}  // namespace simco::ng
