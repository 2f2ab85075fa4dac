#include "simco/net/connector.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <string>
#include <utility>
#include <vector>

#include "simco/net/limits.hpp"
#include "simco/net/sctp/channel.hpp"
#include "simco/net/sctp/kernel.hpp"
#include "simco/net/sctp/userland.hpp"
#include "simco/net/tcp_channel.hpp"
#include "simco/net/tls_handshake.hpp"

namespace simco::net {
namespace {

using boost::asio::ip::address;
using boost::asio::ip::tcp;
using boost::system::error_code;

class Attempt : public std::enable_shared_from_this<Attempt> {
 public:
  Attempt(const boost::asio::any_io_executor& executor, const TransportOptions& options,
          const HostPort& target, ReadBuffer& read_buffer, OnConnected done)
      : executor_(executor),
        options_(options),
        target_(target),
        resolver_(executor),
        timer_(executor),
        read_buffer_(read_buffer),
        done_(std::move(done)) {
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
  /// The hosts one after the other; then the connecting begins.
  void resolve() {
    const auto number = addresses_.size();
    if (number == hosts_.size()) return choose();
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

  void choose() {
    kernel_sctp_ = options_.transport == Transport::kSctp && sctp::use_kernel(options_.sctp);
    if (kernel_sctp_ && hosts_.size() > 1) {
      auto& all = candidates_.emplace_back();
      for (const auto& found : addresses_) all.push_back(found.front());
    } else {
      for (const auto& found : addresses_) {
        for (const auto& one : found) candidates_.push_back({one});
      }
    }
    try_next({});
  }

  void try_next(const error_code& last) {
    if (!done_) return;
    if (next_ == candidates_.size()) {
      return finish(last ? last : error_code(boost::asio::error::host_not_found), nullptr);
    }
    const auto& candidate = candidates_[next_++];
    options_.transport == Transport::kTcp ? try_tcp(candidate.front()) : try_sctp(candidate);
  }

  void try_tcp(const address& one) {
    socket_.emplace(executor_);
    error_code error;
    const tcp::endpoint endpoint(one, target_.port);
    socket_->open(endpoint.protocol(), error);
    if (!error && !local_.empty()) socket_->bind({local_.front(), 0}, error);
    if (error) return try_next(error);
    socket_->async_connect(endpoint, [self = shared_from_this()](const error_code& failure) {
      if (!self->done_) return;
      if (failure) return self->try_next(failure);
      self->connected();
    });
  }

  void connected() {
    if (!options_.tls) {
      return finish({}, std::make_shared<TcpChannel>(std::move(*socket_), read_buffer_));
    }
    const auto& name = options_.tls_name.empty() ? target_.host : options_.tls_name;
    std::make_shared<TlsHandshake>(
        std::move(*socket_), options_.tls, name,
        [self = shared_from_this()](const error_code& error, tcp::socket socket,
                                    std::unique_ptr<TlsStream> stream) {
          if (error) return self->finish(error, nullptr);
          self->finish({}, std::make_shared<TcpChannel>(std::move(socket), self->read_buffer_,
                                                        std::move(stream)));
        })
        ->start(kHandshakeTimeout);
  }

  void try_sctp(const std::vector<address>& candidate) {
    auto socket =
        kernel_sctp_
            ? sctp::connect_kernel(executor_, candidate, target_.port, local_, options_.sctp)
            : sctp::connect_userland(executor_, candidate.front(), target_.port, options_.sctp);
    if (!socket) return try_next(socket.error());
    association_ = std::move(*socket);
    wait_for_association();
  }

  void wait_for_association() {
    association_->wait_readable([self = shared_from_this()] {
      if (self->done_) self->on_association();
    });
  }

  void on_association() {
    using Kind = sctp::Input::Kind;
    const auto input = association_->receive(read_buffer_);
    switch (input.kind) {
      case Kind::kNothing: return wait_for_association();
      case Kind::kConnected:
        return finish({}, std::make_shared<sctp::Channel>(std::move(association_), read_buffer_,
                                                          options_.sctp));
      case Kind::kError: return try_next(input.error);
      default: return try_next(boost::asio::error::connection_aborted);
    }
  }

  void finish_later(const error_code& error) {
    boost::asio::post(executor_,
                      [self = shared_from_this(), error] { self->finish(error, nullptr); });
  }

  void finish(const error_code& error, std::shared_ptr<MessageChannel> channel) {
    if (!done_) return;
    const auto done = std::exchange(done_, nullptr);
    timer_.cancel();
    resolver_.cancel();
    socket_.reset();
    // Not from under its own feet: this may be its call.
    if (association_) boost::asio::post(executor_, [old = std::move(association_)] {});
    done(error, std::move(channel));
  }

  boost::asio::any_io_executor executor_;
  TransportOptions options_;
  HostPort target_;
  tcp::resolver resolver_;
  boost::asio::steady_timer timer_;
  ReadBuffer& read_buffer_;
  OnConnected done_;
  std::vector<std::string> hosts_;
  std::vector<address> local_;
  std::vector<std::vector<address>> addresses_;   ///< of each host
  std::vector<std::vector<address>> candidates_;  ///< each is one thing to connect to
  std::size_t next_ = 0;
  bool kernel_sctp_ = false;
  std::optional<tcp::socket> socket_;
  std::unique_ptr<sctp::Socket> association_;
};

}  // namespace

void connect(const boost::asio::any_io_executor& executor, const TransportOptions& options,
             const HostPort& target, std::chrono::milliseconds timeout, ReadBuffer& read_buffer,
             OnConnected done) {
  std::make_shared<Attempt>(executor, options, target, read_buffer, std::move(done))
      ->start(timeout);
}

const char* stack_name(const TransportOptions& options) {
  const bool userland = options.transport == Transport::kSctp && !sctp::use_kernel(options.sctp);
  return userland ? "userland" : "kernel";
}

}  // namespace simco::net
