#include "agent/ng/serve/middlebox.hpp"

#include <boost/asio/post.hpp>
#include <utility>

#include "agent/driver.hpp"
#include "agent/ng/serve/limits.hpp"
#include "simco/log/log.hpp"

namespace simco::ng {

namespace asio = boost::asio;
using boost::system::error_code;

Middlebox::Middlebox(asio::io_context& io, net::HostPort where, const agent::AgentOptions& options,
                     User& user)
    : io_(io),
      where_(std::move(where)),
      user_(user),
      driver_(std::make_shared<agent::Driver>(io.get_executor(), options)) {
  driver_->set_reconnect({kReconnectDelayFirst, kReconnectPauseMax,
                          [this](const error_code& reason) { on_change(reason); }});
}

void Middlebox::start() {
  driver_->keep_open(where_);
  next_event();
}

void Middlebox::stop(std::function<void()> done) {
  stopping_ = true;
  driver_->close([done = std::move(done)](const error_code&, const agent::Outcome&) { done(); });
}

/// `reason`: why there is no session; none if there is one again.
void Middlebox::on_change(const error_code& reason) {
  if (stopping_) return;
  if (!reason) {
    const auto& capabilities = driver_->capabilities();
    open_ = reported_ = true;
    log::info("session with the middlebox at {}:{}: {}", where_.host, where_.port,
              capabilities.nat ? "NAT" : "firewall");
    user_.on_session(capabilities);
  } else if (std::exchange(open_, false)) {
    log::warn("the session with the middlebox is lost: {}", reason.message());
    user_.on_session_lost();
  } else if (!std::exchange(reported_, true)) {  // once, not at every attempt
    log::error("no session with the middlebox at {}:{}: {}; trying again", where_.host, where_.port,
               reason.message());
  }
}

void Middlebox::send(std::uint64_t transaction, const Body& request,
                     std::optional<PolicyRuleId> rule) {
  driver_->transact(
      request, rule, [this, transaction](const error_code& error, const agent::Outcome& outcome) {
        if (outcome.body != nullptr) {
          return user_.on_result(transaction, {outcome.body, false, error ? error.message() : ""});
        }
        // The call may come from inside a function of the user.
        asio::post(io_, [this, transaction, error] {
          const bool lost = error == agent::AgentError::kConnectionLost ||
                            error == agent::AgentError::kMiddleboxTerminated;
          user_.on_result(transaction, {nullptr, lost, error.message()});
        });
      });
}

void Middlebox::next_event() {
  driver_->next_event([this](const error_code& error, const agent::Outcome& outcome) {
    if (error) return;  // at the end
    asio::post(io_, [this, event = *outcome.event] {
      if (stopping_) return;
      user_.on_rule_event(event.pid, event.lifetime);
      next_event();
    });
  });
}

}  // namespace simco::ng
