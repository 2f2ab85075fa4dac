// All calls, with the requests that wait in each, and the time when something of it is due. No I/O,
// no clock.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/ng/call/call.hpp"
#include "agent/ng/call/call_host.hpp"
#include "agent/ng/call/exchange.hpp"
#include "simco/wire/ids.hpp"
#include "simco/wire/instant.hpp"

namespace simco::ng {

/// Why an operation fails.
struct Failure {
  std::optional<NegativeReplyCode> code;  ///< of a negative reply
  std::string text;
};

/// An offer, an answer or a delete that waits for others.
struct Operation {
  PendingRequest asked;
  Exchange exchange;                             ///< not of a delete
  std::shared_ptr<const nlohmann::json> passed;  ///< reply of the media proxy
  std::size_t pending = 0;                       ///< transactions and questions
  std::optional<Failure> failure;
};

struct CallState {
  Call call;
  std::optional<Operation> operation;
  std::deque<PendingRequest> waiting;  ///< at most kWaitingMax
  std::optional<Instant> due;          ///< as Calls has scheduled it
  bool changed = false;                ///< since CallHost::on_changed()

  /// Returns the first time at which a reply, an offer or the call itself is overdue.
  Instant next_due() const;
};

/// References to a call hold until Calls::end() of that call.
class Calls {
 public:
  using Map = std::map<std::string, CallState>;  ///< by call-id

  explicit Calls(CallHost& host) : host_(host) {}

  /// Adds a call from before a restart, or a new one. It needs schedule() then.
  CallState& restore(Call call);
  CallState& begin(const std::string& call_id, Moment now, std::chrono::seconds duration_max);
  /// Removes a call, and tells the host.
  void end(CallState& state);

  /// Returns the call, or null if it is over.
  CallState* find(const std::string& call_id);
  Map& all() { return calls_; }
  const Map& all() const { return calls_; }
  std::uint64_t begun() const { return begun_; }  ///< since the start, without restored ones
  /// Returns the ids of `limit` calls at most.
  std::vector<std::string> ids(std::size_t limit) const;

  /// Tells the host of a change that it does not know.
  void tell_changed(CallState& state);

  /// Notes when something of the call is due: after each event of it.
  void schedule(CallState& state);
  /// Returns a call of which something is due, or null.
  CallState* first_due(Instant now);
  std::optional<Instant> next_due() const;

 private:
  CallHost& host_;
  Map calls_;
  std::uint64_t begun_ = 0;
  std::set<std::pair<Instant, std::string>> due_;
};

}  // namespace simco::ng
