#include "agent/reconnection.hpp"

#include <boost/asio/post.hpp>

namespace simco::agent {

using boost::system::error_code;

void Reconnection::set(std::optional<Reconnect> policy) {
  policy_ = std::move(policy);
  if (policy_) backoff_.emplace(policy_->delay_first, policy_->delay_max);
}

void Reconnection::retry(const error_code& reason, std::function<void()> attempt) {
  std::uniform_real_distribution<double> fraction(0, 1);
  timer_.expires_after(backoff_->next(fraction(random_)));
  timer_.async_wait([attempt = std::move(attempt)](const error_code& error) {
    if (!error) attempt();
  });
  report(reason);
}

void Reconnection::succeed() {
  if (!std::exchange(under_way_, false)) return;
  backoff_->reset();
  report({});
}

void Reconnection::stop() {
  under_way_ = false;
  timer_.cancel();
}

void Reconnection::report(const error_code& reason) {
  if (!policy_->on_change) return;
  boost::asio::post(timer_.get_executor(), [tell = policy_->on_change, reason] { tell(reason); });
}

}  // namespace simco::agent
