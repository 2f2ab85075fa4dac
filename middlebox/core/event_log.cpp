// Finds the reason of a refusal, and writes its line.
#include "middlebox/core/event_log.hpp"

#include "middlebox/limits.hpp"

namespace simco::middlebox {

EventLog::EventLog(std::uint32_t audit_rate, const Sink& sink)
    : sink_(sink),
      audit_(audit_rate, kChangesLeftOut, to(LogLevel::kInfo)),
      peers_(kPeerLinesPerSecond, kWarningsLeftOut, to(LogLevel::kWarning)),
      refusals_(kRefusalLinesPerSecond, kRefusalsLeftOut, to(LogLevel::kInfo)) {}

LimitedLog::Sink EventLog::to(LogLevel level) const {
  return [sink = sink_, level](const std::string& line) { sink(level, line); };
}

void EventLog::message_refused(const Connection& connection, NegativeReplyCode code, Instant now) {
  if (code == NegativeReplyCode::kAuthenticationFailed || !refusals_.wants(now)) return;
  const auto& candidate = connection.candidate();
  const bool open = connection.session_agent().has_value();
  std::string_view reason = open ? std::string_view() : candidate.refused_because;
  if (code == NegativeReplyCode::kVersionMismatch) reason = "it speaks another version of SIMCO";
  // Refused before the admission was asked.
  if (!open && reason.empty() && code == NegativeReplyCode::kLackOfResources) {
    reason = kSessionsFull;
  }
  const auto by = open ? connection.agent_name() : std::string_view(candidate.name);
  refusals_.write(refusal_line({open ? "" : "session", code, reason, "", by, candidate.endpoint}));
}

void EventLog::request_refused(const CommitPipeline::Refusal& refusal,
                               const policy::PolicyEngine& engine, Instant now) {
  if (!refusals_.wants(now)) return;
  const bool at_once = refusal.request != nullptr;
  std::string reason;
  if (at_once) {
    reason = engine.reason(*refusal.context, *refusal.request, refusal.code);
  } else if (refusal.store_failed && refusal.result != rule::ChangeResult::kOverridden) {
    reason = "the store failed";
  } else {
    reason = engine.reason(*refusal.change, refusal.result);
  }
  refusals_.write(
      refusal_line({policy::name_of(refusal.transaction), refusal.code, reason,
                    at_once ? request_fields(*refusal.request) : request_fields(*refusal.change),
                    refusal.requester.agent_name(), refusal.requester.peer_endpoint()}));
}

void EventLog::flush() {
  peers_.flush();
  refusals_.flush();
}

}  // namespace simco::middlebox
