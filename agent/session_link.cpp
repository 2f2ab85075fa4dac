#include "agent/session_link.hpp"

#include <utility>

namespace simco::agent {

SessionLink::SessionLink(boost::asio::any_io_executor executor, const AgentOptions& options,
                         Link::Observer& observer)
    : executor_(std::move(executor)), options_(options), observer_(observer) {
  options_.transport.silence_max = kAgentSilenceMax;
}

void SessionLink::connect() {
  established_ = false;
  link_ = std::make_unique<Link>(
      executor_, read_buffer_, observer_,
      AgentSession::Authentication{options_.credentials, options_.middlebox_secret},
      options_.transport);
  link_->open(target_, options_.timeout);
}

std::unique_ptr<Link> SessionLink::take() {
  established_ = false;
  return std::move(link_);
}

std::optional<Instant> SessionLink::deadline() const {
  return link_ && !established_ ? std::optional(deadline_) : std::nullopt;
}

}  // namespace simco::agent
