// One Link after another to the same middlebox. A session is opened within a time, and counts as
// established from then until its link is gone.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <optional>

#include "agent/link.hpp"
#include "agent/options.hpp"
#include "simco/wire/instant.hpp"

namespace simco::agent {

class SessionLink {
 public:
  SessionLink(boost::asio::any_io_executor executor, const AgentOptions& options,
              Link::Observer& observer);

  void set_target(const net::HostPort& target) { target_ = target; }
  /// Makes a link and opens it; there must be none.
  void connect();
  /// The session must be open a timeout after `now`. After connect(), whose own limit is due first:
  /// it knows the reason.
  void await_open(Instant now) { deadline_ = now + options_.timeout; }
  /// Gives up the link.
  std::unique_ptr<Link> take();

  explicit operator bool() const { return link_ != nullptr; }
  Link* operator->() const { return link_.get(); }

  void on_open() { established_ = true; }
  /// The session may be ending.
  bool established() const { return link_ && established_; }
  bool is_open() const { return link_ && link_->is_open(); }
  /// When the session must be open, until it is.
  std::optional<Instant> deadline() const;

 private:
  boost::asio::any_io_executor executor_;
  AgentOptions options_;
  Link::Observer& observer_;
  net::ReadBuffer read_buffer_;
  net::HostPort target_;
  std::unique_ptr<Link> link_;
  Instant deadline_{};
  bool established_ = false;
};

}  // namespace simco::agent
