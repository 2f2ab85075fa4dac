// A session that sends policy rule requests, as seen by the parts that answer them.
#pragma once

#include <cstdint>
#include <string_view>

#include "middlebox/rule/rule_record.hpp"
#include "simco/wire/messages.hpp"

namespace simco::policy {
struct RuleEvent;
}

namespace simco::middlebox {

/// Must exist until each of its requests has been answered.
class Requester {
 public:
  virtual rule::AgentId agent() const = 0;
  /// Name of that agent; valid as long as the session is open.
  virtual std::string_view agent_name() const = 0;
  /// Its address, for the log.
  virtual std::string_view peer() const = 0;
  /// The same with its port, where that is known.
  virtual std::string_view peer_endpoint() const { return peer(); }
  /// Maximum lifetime in the capabilities that its session was told, seconds.
  virtual std::uint32_t lifetime_max_s() const = 0;
  virtual void reply(TransactionId tid, const Body& body) = 0;
  /// Another session has changed a rule that its agent may see, or the rule has expired.
  virtual void notify(const policy::RuleEvent& event) = 0;
  /// True if it should not be sent more now: its peer has to read first.
  virtual bool output_full() const = 0;

 protected:
  ~Requester() = default;

 private:
  friend class RequestLines;
  /// Changes that it asked for and that are not settled; a PDR's is when its victims have ended.
  std::uint32_t unsettled_ = 0;
};

}  // namespace simco::middlebox
