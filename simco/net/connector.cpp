// Resolves the hosts, then has the transport's Dialers try their addresses. They begin one after
// another, and the first that connects wins (RFC 8305 section 5): an address behind a path that has
// failed does not answer, and must not keep the agent from the next.
#include "simco/net/connector.hpp"

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <string>
#include <utility>
#include <vector>

#include "simco/net/limits.hpp"
#include "simco/net/transport_type.hpp"

namespace simco::net {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

/// Every second, unless an option says never.
void probe_idle(std::chrono::milliseconds& interval) {
  interval = std::min<std::chrono::milliseconds>(interval, kIdleProbe);
}

class Attempt : public std::enable_shared_from_this<Attempt> {
 public:
  Attempt(const boost::asio::any_io_executor& executor, const TransportOptions& options,
          const HostPort& target, ReadBuffer& read_buffer, OnConnected done)
      : executor_(executor),
        options_(options),
        target_(target),
        resolver_(executor),
        timer_(executor),
        pause_(executor),
        read_buffer_(read_buffer),
        done_(std::move(done)) {
    if (options_.silence_max.count() != 0) {
      probe_idle(options_.settings.sctp.heartbeat);
      probe_idle(options_.settings.quic.keep_alive);
    }
    hosts_.push_back(target.host);
    hosts_.insert(hosts_.end(), target.further_hosts.begin(), target.further_hosts.end());
  }

  void start(std::chrono::milliseconds timeout) {
    timer_.expires_after(timeout);
    timer_.async_wait([self = shared_from_this()](const error_code& error) {
      if (!error) self->finish(boost::asio::error::timed_out, nullptr);
    });
    for (const auto& text : options_.local_addresses) {
      error_code error;
      local_.push_back(boost::asio::ip::make_address(text, error));
      if (error) return finish_later(error);
    }
    resolve();
  }

 private:
  /// The hosts in turn; then the connecting begins.
  void resolve() {
    const auto number = addresses_.size();
    if (number == hosts_.size()) return begin();
    resolver_.async_resolve(hosts_[number], std::to_string(target_.port),
                            [self = shared_from_this()](const error_code& error, auto results) {
                              if (error) return self->finish(error, nullptr);
                              auto& found = self->addresses_.emplace_back();
                              for (const auto& one : results) {
                                found.push_back(one.endpoint().address());
                              }
                              self->resolve();
                            });
  }

  void begin() {
    candidates_ = make_dialer()->candidates(addresses_);
    try_next({});
  }

  std::shared_ptr<Dialer> make_dialer() const {
    return type_of(options_.transport)
        .make_dialer({executor_, options_, target_.host, target_.port, local_, read_buffer_});
  }

  void try_next(const error_code& last) {
    if (!done_) return;
    if (next_ != candidates_.size()) return dial(candidates_[next_++]);
    if (under_way_ != 0) return;
    finish(last ? last : error_code(boost::asio::error::host_not_found), nullptr);
  }

  void dial(const Addresses& candidate) {
    pause_.expires_after(kNextAddress);
    pause_.async_wait([self = shared_from_this()](const error_code& error) {
      if (!error) self->try_next({});
    });
    ++under_way_;
    const auto dialer = dialers_.emplace_back(make_dialer());
    dialer->dial(candidate,
                 [self = shared_from_this()](Dialer::Result result, const error_code& error,
                                             std::shared_ptr<MessageChannel> channel) {
                   --self->under_way_;
                   // What one address refuses, another one may yet grant.
                   const bool over = result == Dialer::Result::kFailed ||
                                     (result == Dialer::Result::kRefused && self->under_way_ != 0);
                   if (over) return self->try_next(error);
                   self->finish(error, std::move(channel));
                 });
  }

  void finish_later(const error_code& error) {
    boost::asio::post(executor_,
                      [self = shared_from_this(), error] { self->finish(error, nullptr); });
  }

  void finish(const error_code& error, std::shared_ptr<MessageChannel> channel) {
    if (!done_) return;
    const auto done = std::exchange(done_, nullptr);
    timer_.cancel();
    pause_.cancel();
    resolver_.cancel();
    for (const auto& dialer : std::exchange(dialers_, {})) dialer->cancel();
    done(error, std::move(channel));
  }

  boost::asio::any_io_executor executor_;
  TransportOptions options_;
  HostPort target_;
  tcp::resolver resolver_;
  boost::asio::steady_timer timer_;
  boost::asio::steady_timer pause_;  ///< until the next candidate begins
  ReadBuffer& read_buffer_;
  OnConnected done_;
  std::vector<std::string> hosts_;
  Addresses local_;
  std::vector<Addresses> addresses_;   ///< of each host
  std::vector<Addresses> candidates_;  ///< alternatives to connect to
  std::size_t next_ = 0;
  std::vector<std::shared_ptr<Dialer>> dialers_;  ///< of the candidates that have begun
  std::size_t under_way_ = 0;                     ///< of these
};

}  // namespace

void connect(const boost::asio::any_io_executor& executor, const TransportOptions& options,
             const HostPort& target, std::chrono::milliseconds timeout, ReadBuffer& read_buffer,
             OnConnected done) {
  std::make_shared<Attempt>(executor, options, target, read_buffer, std::move(done))
      ->start(timeout);
}

const char* stack_name(const TransportOptions& options) {
  return type_of(options.transport).stack(options);
}

}  // namespace simco::net
