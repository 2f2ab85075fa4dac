#include "middlebox/audit_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "simco/wire/tuple_text.hpp"

namespace simco::middlebox {
namespace {

using backend::ChangeResult;
using backend::RuleChange;
using backend::RuleKind;

/// What happened, in the RFC's words.
std::string_view event_of(const AuditEntry& entry) {
  switch (entry.change.kind) {
    case RuleChange::Kind::kAdd:
      switch (entry.change.rule) {
        case RuleKind::kReserve: return "reserve";
        case RuleKind::kEnable: return "enable";
        case RuleKind::kDisable: return "disable";
      }
      break;
    case RuleChange::Kind::kReplace: return "enable-reserved";
    case RuleChange::Kind::kSetLifetime: return "lifetime";
    case RuleChange::Kind::kRemove:
      if (entry.ended_by != PolicyRuleId{}) return "disabled";
      return entry.by.empty() ? "expire" : "delete";
  }
  return "?";
}

std::string_view outcome_of(ChangeResult result) {
  switch (result) {
    case ChangeResult::kDone: return "done";
    case ChangeResult::kRefused: return "refused-by-backend";
    case ChangeResult::kNoResources: return "no-resources";
  }
  return "?";
}

/// A value as one word: names come from configuration files and peers.
std::string word(std::string_view text) {
  const auto plain = [](unsigned char c) { return c > ' ' && c < 0x7F && c != '"' && c != '\\'; };
  if (!text.empty() && std::ranges::all_of(text, plain)) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == ' ' || plain(static_cast<unsigned char>(c))) {
      quoted += c;
    } else {
      fmt::format_to(std::back_inserter(quoted), "\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return quoted + '"';
}

}  // namespace

std::string audit_line(const AuditEntry& entry) {
  const auto& change = entry.change;
  std::string line = fmt::format("audit event={} pid={} group={} owner={}", event_of(entry),
                                 change.pid.value, entry.group.value, word(entry.owner));
  auto out = std::back_inserter(line);
  if (!entry.by.empty()) fmt::format_to(out, " by={} peer={}", word(entry.by), word(entry.peer));
  if (entry.ended_by != PolicyRuleId{}) fmt::format_to(out, " ended-by={}", entry.ended_by.value);
  if (change.rule != RuleKind::kReserve) {
    fmt::format_to(out, " protocol={} internal={} external={}",
                   protocol_name(change.internal.protocol), to_text(change.internal),
                   to_text(change.external));
  }
  if (change.outside) fmt::format_to(out, " outside={}", to_text(*change.outside));
  if (change.inside) fmt::format_to(out, " inside={}", to_text(*change.inside));
  fmt::format_to(out, " lifetime={} outcome={}", change.lifetime.seconds, outcome_of(entry.result));
  return line;
}

AuditLog::AuditLog(std::uint32_t lines_per_second, Sink sink)
    : budget_(lines_per_second), sink_(std::move(sink)) {}

void AuditLog::record(const AuditEntry& entry, Instant now) {
  if (budget_.lines_per_second() == 0 || !budget_.take(now)) return;
  flush();
  sink_(audit_line(entry));
}

void AuditLog::flush() {
  const auto count = budget_.take_left_out();
  if (count == 0) return;
  sink_(
      fmt::format("audit event=left-out changes={} limit={}/s", count, budget_.lines_per_second()));
}

}  // namespace simco::middlebox
