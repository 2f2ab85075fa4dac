// Formats a decision as `audit name=value ...`. Names come from peers and configuration files, so
// unusual bytes are escaped.
#include "middlebox/observe/audit_log.hpp"

#include <fmt/format.h>

#include <utility>

#include "middlebox/observe/words.hpp"
#include "simco/wire/tuple_text.hpp"

namespace simco::middlebox {
namespace {

using rule::ChangeResult;
using rule::Decision;
using rule::RuleChange;
using rule::RuleKind;

/// The event, in the RFC's words.
std::string_view event_of(const Decision& decision) {
  switch (decision.change.kind) {
    case RuleChange::Kind::kAdd:
      switch (decision.change.after.kind) {
        case RuleKind::kReserve: return "reserve";
        case RuleKind::kEnable: return "enable";
        case RuleKind::kDisable: return "disable";
      }
      break;
    case RuleChange::Kind::kReplace: return "enable-reserved";
    case RuleChange::Kind::kSetLifetime: return "lifetime";
    case RuleChange::Kind::kRemove:
      if (decision.ended_by != PolicyRuleId{}) return "disabled";
      return decision.by.empty() ? "expire" : "delete";
  }
  return "?";
}

std::string_view outcome_of(ChangeResult result) {
  switch (result) {
    case ChangeResult::kDone: return "done";
    case ChangeResult::kRefused: return "refused-by-backend";
    case ChangeResult::kNoResources: return "no-resources";
    case ChangeResult::kOverridden: return "disabled";
  }
  return "?";
}

}  // namespace

std::string audit_line(const Decision& decision) {
  const auto& change = decision.change;
  const auto& rule = change.rule();
  std::string line = fmt::format("audit event={} pid={} group={} owner={}", event_of(decision),
                                 rule.pid.value, rule.group.value, words::word(rule.owner_name));
  if (!decision.by.empty())
    line += fmt::format(" by={} peer={}", words::word(decision.by), words::word(decision.peer));
  if (decision.ended_by != PolicyRuleId{})
    line += fmt::format(" ended-by={}", decision.ended_by.value);
  if (rule.kind != RuleKind::kReserve) {
    line +=
        fmt::format(" protocol={} internal={} external={}", protocol_name(rule.internal.protocol),
                    to_text(rule.internal), to_text(rule.external));
  }
  if (rule.outside) line += fmt::format(" outside={}", to_text(*rule.outside));
  if (rule.inside) line += fmt::format(" inside={}", to_text(*rule.inside));
  line +=
      fmt::format(" lifetime={} outcome={}", change.lifetime.seconds, outcome_of(decision.result));
  return line;
}

AuditLog::AuditLog(std::uint32_t lines_per_second, Sink sink)
    : budget_(lines_per_second), sink_(std::move(sink)) {}

void AuditLog::record(const Decision& decision, Instant now) {
  if (budget_.lines_per_second() == 0 || !budget_.take(now)) return;
  flush();
  sink_(audit_line(decision));
}

void AuditLog::flush() {
  const auto count = budget_.take_left_out();
  if (count == 0) return;
  sink_(
      fmt::format("audit event=left-out changes={} limit={}/s", count, budget_.lines_per_second()));
}

}  // namespace simco::middlebox
