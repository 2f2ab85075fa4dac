#include "agent/ng/call/upstream.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "agent/ng/call/limits.hpp"

namespace simco::ng {

void UpstreamRequests::ask(const PendingRequest& request, const std::string& call_id) {
  asked_[request.id] = call_id;
  host_.pass_on(request.id, request.request.dictionary);
}

void UpstreamRequests::leave(PendingRequest& request) {
  const bool replied = std::exchange(request.replied, true);
  if (!replied) left_[request.id] = request.since.instant + kReplyPatience;
  host_.pass_on(request.id, request.request.dictionary);
}

std::optional<std::string> UpstreamRequests::on_reply(std::uint64_t id,
                                                      const nlohmann::json& reply) {
  auto node = asked_.extract(id);
  if (!node.empty()) return std::move(node.mapped());
  if (left_.erase(id) != 0) host_.reply(id, reply);
  return std::nullopt;
}

std::optional<Instant> UpstreamRequests::next_deadline() const {
  return left_.empty() ? std::nullopt : std::optional(left_.begin()->second);
}

void UpstreamRequests::on_deadline(Instant now) {
  while (!left_.empty() && left_.begin()->second <= now) {
    const auto id = left_.begin()->first;
    left_.erase(left_.begin());
    host_.reply(id, error_reply("The media proxy does not reply"));
  }
}

}  // namespace simco::ng
