#include "middlebox/observe/refusal_log.hpp"

#include <fmt/format.h>

#include <type_traits>

#include "middlebox/observe/words.hpp"
#include "simco/wire/tuple_text.hpp"

namespace simco::middlebox {
namespace {

std::string pair_fields(const AddressTuple& internal, const AddressTuple& external) {
  return fmt::format(" protocol={} internal={} external={}", protocol_name(internal.protocol),
                     to_text(internal), to_text(external));
}

}  // namespace

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
  if (!refused.by.empty()) line += " by=" + words::word(refused.by);
  return line + " peer=" + words::word(refused.peer);
}

void RefusalLog::flush() {
  const auto count = budget_.take_left_out();
  if (count == 0) return;
  sink_(fmt::format("{} further refusals were left out (more than {} in a second)", count,
                    budget_.lines_per_second()));
}

}  // namespace simco::middlebox
