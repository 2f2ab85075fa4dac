// Formats decisions and refusals as `name=value ...`. Names come from peers and configuration
// files, so unusual bytes are escaped.
#include "middlebox/observe/log_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <type_traits>
#include <variant>

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

bool is_plain(unsigned char c) { return c > ' ' && c < 0x7F && c != '"' && c != '\\'; }

std::string pair_fields(const AddressTuple& internal, const AddressTuple& external) {
  return fmt::format(" protocol={} internal={} external={}", protocol_name(internal.protocol),
                     to_text(internal), to_text(external));
}

}  // namespace

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == ' ' || is_plain(static_cast<unsigned char>(c))) {
      result += c;
    } else {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return result + '"';
}

std::string word(std::string_view text) {
  const auto plain = [](char c) { return is_plain(static_cast<unsigned char>(c)); };
  return !text.empty() && std::ranges::all_of(text, plain) ? std::string(text) : in_quotes(text);
}

// --- Changes and refusals ------------------------------------------------------------------------

std::string audit_line(const Decision& decision) {
  const auto& change = decision.change;
  const auto& rule = change.rule();
  std::string line = fmt::format("audit event={} pid={} group={} owner={}", event_of(decision),
                                 rule.pid.value, rule.group.value, word(rule.owner_name));
  if (!decision.by.empty())
    line += fmt::format(" by={} peer={}", word(decision.by), word(decision.peer));
  if (decision.ended_by != PolicyRuleId{})
    line += fmt::format(" ended-by={}", decision.ended_by.value);
  if (rule.kind != RuleKind::kReserve) line += pair_fields(rule.internal, rule.external);
  if (rule.outside) line += fmt::format(" outside={}", to_text(*rule.outside));
  if (rule.inside) line += fmt::format(" inside={}", to_text(*rule.inside));
  line +=
      fmt::format(" lifetime={} outcome={}", change.lifetime.seconds, outcome_of(decision.result));
  return line;
}

std::string request_fields(const Body& request) {
  std::string text;
  std::visit(
      [&text](const auto& body) {
        using Request = std::remove_cvref_t<decltype(body)>;
        constexpr bool kPea = std::is_same_v<Request, PeaRequest>;
        constexpr bool kPrr = std::is_same_v<Request, PrrRequest>;
        constexpr bool kPer = std::is_same_v<Request, PerRequest>;
        constexpr bool kPdr = std::is_same_v<Request, PdrRequest>;
        constexpr bool kPlc = std::is_same_v<Request, PlcRequest>;
        if constexpr (kPea || kPlc || std::is_same_v<Request, PrsRequest>) {
          text += fmt::format(" pid={}", body.pid.value);
        }
        if constexpr (kPer || kPea || kPdr) text += pair_fields(body.internal, body.external);
        if constexpr (kPrr) {
          text += fmt::format(" protocol={} ports={}", protocol_name(body.parameters.protocol),
                              body.parameters.port_range);
        }
        if constexpr (kPrr || kPer) {
          if (body.group) text += fmt::format(" group={}", body.group->value);
        }
        if constexpr (kPrr || kPer || kPea || kPdr || kPlc) {
          text += fmt::format(" lifetime={}", body.lifetime.seconds);
        }
      },
      request);
  return text;
}

std::string request_fields(const rule::RuleChange& change) {
  const auto& rule = change.rule();
  std::string text = fmt::format(" pid={}", rule.pid.value);
  if (rule.kind != rule::RuleKind::kReserve) text += pair_fields(rule.internal, rule.external);
  return text + fmt::format(" lifetime={}", change.lifetime.seconds);
}

std::string refusal_line(const Refused& refused) {
  std::string line = "refused";
  if (!refused.request.empty()) line += fmt::format(" {}", refused.request);
  line +=
      fmt::format(" 0x03{:02x} {}", static_cast<unsigned>(refused.code), to_string(refused.code));
  if (!refused.reason.empty()) line += fmt::format(" ({})", refused.reason);
  line += refused.fields;
  if (!refused.by.empty()) line += " by=" + word(refused.by);
  return line + " peer=" + word(refused.peer);
}

// --- The limit -----------------------------------------------------------------------------------

bool LimitedLog::wants(Instant now) {
  if (per_second_ == 0) return false;
  const std::chrono::duration<double> passed = now - filled_at_;
  filled_at_ = now;
  allowance_ = std::min(allowance_ + std::max(passed.count(), 0.0) * per_second_,
                        static_cast<double>(per_second_));
  if (allowance_ < 1) {
    ++left_out_;
    return false;
  }
  allowance_ -= 1;
  return true;
}

void LimitedLog::write(const std::string& line) {
  flush();
  sink_(line);
}

void LimitedLog::flush() {
  const auto count = std::exchange(left_out_, 0);
  if (count != 0) sink_(fmt::format(fmt::runtime(about_left_out_), count, per_second_));
}

}  // namespace simco::middlebox
