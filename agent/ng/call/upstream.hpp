// Requests that a media proxy has got from here (--upstream): which operation waits for the reply,
// and when the reply must be there. No I/O, no clock.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <unordered_map>

#include "agent/ng/call/call_host.hpp"
#include "agent/ng/call/exchange.hpp"
#include "simco/wire/instant.hpp"

namespace simco::ng {

class UpstreamRequests {
 public:
  explicit UpstreamRequests(CallHost& host) : host_(host) {}

  /// Passes on a request whose reply the operation of this call waits for.
  void ask(const PendingRequest& request, const std::string& call_id);
  /// The operation no longer waits. Returns whether it did.
  bool withdraw(const PendingRequest& request) { return asked_.erase(request.id) != 0; }
  /// Passes on a request whose reply is the media proxy's, unless it has been replied to.
  void leave(PendingRequest& request);
  /// The media proxy has replied. Returns the call whose operation has waited for it, if one has.
  std::optional<std::string> on_reply(std::uint64_t id, const nlohmann::json& reply);

  std::optional<Instant> next_deadline() const;
  void on_deadline(Instant now);

 private:
  CallHost& host_;
  std::unordered_map<std::uint64_t, std::string> asked_;  ///< call-ids
  std::map<std::uint64_t, Instant> left_;                 ///< when replies are due; oldest first
};

}  // namespace simco::ng
