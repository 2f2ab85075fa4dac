// Requests to the middlebox about rules, and their results.
#include "agent/ng/call/call_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "agent/ng/call/limits.hpp"

namespace simco::ng {
namespace {

RequestedIpVersion requested(IpVersion version) {
  return version == IpVersion::kIpv4 ? RequestedIpVersion::kIpv4 : RequestedIpVersion::kIpv6;
}

/// A rule or a reservation that a request has made.
struct Granted {
  MadeRule made;
  Lifetime lifetime;
};

std::optional<Granted> granted_in(const Body* reply) {
  if (reply == nullptr) return std::nullopt;
  if (const auto* reserved = std::get_if<PrrReply>(reply)) {
    return Granted{{reserved->pid, reserved->outside}, reserved->lifetime};
  }
  if (const auto* enabled = std::get_if<PerReply>(reply)) {
    return Granted{{enabled->pid, enabled->outside}, enabled->lifetime};
  }
  return std::nullopt;
}

std::optional<NegativeReplyCode> code_in(const Body* reply) {
  const auto* refused = reply == nullptr ? nullptr : std::get_if<NegativeReply>(reply);
  return refused == nullptr ? std::nullopt : std::optional(refused->code);
}

}  // namespace

// --- Sessions ------------------------------------------------------------------------------------

void CallRules::restore_unended(const KeptRule& rule, Instant now) {
  keeper_.keep(rule, lifetime_, now);
  keeper_.end(rule.pid);
  unended_.insert(rule.pid);
}

void CallRules::on_session(const Capabilities& capabilities) {
  session_ = capabilities;
  lost_at_.reset();
  keeper_.on_session_open();
}

void CallRules::on_session_lost(Instant now) {
  if (!lost_at_) lost_at_ = now;
  keeper_.on_session_end();
  store_unended();
}

/// The next events may come after a restart.
void CallRules::store_unended() {
  for (const auto& rule : keeper_.unended()) {
    if (unended_.insert(rule.pid).second) host_.on_unended(rule);
  }
}

void CallRules::gone(PolicyRuleId pid) {
  if (unended_.erase(pid) != 0) host_.on_rule_gone(pid);
}

std::optional<std::string> CallRules::fault(Instant since) const {
  const bool gone = lost_at_ && *lost_at_ + kReplyPatience <= since;
  if (!session_ || gone) return "No session with the middlebox";
  if (session_->twice_nat) return "The middlebox is a twice NAT, which is not supported";
  return std::nullopt;
}

// --- Requests ------------------------------------------------------------------------------------

void CallRules::send(Transaction transaction, const Body& request,
                     std::optional<PolicyRuleId> rule) {
  transactions_.emplace(++last_transaction_, std::move(transaction));
  host_.send(last_transaction_, request, rule);
}

/// PRR: pairs at an even port, single ports with the parity that they have.
void CallRules::reserve(const Call& call, const InternalPorts& ports) {
  PrrRequest request;
  request.parameters.parity =
      ports.count == 2 || ports.port % 2 == 0 ? ReservedParity::kEven : ReservedParity::kOdd;
  request.parameters.inside_version = request.parameters.outside_version =
      requested(ports.address.version);
  request.parameters.protocol = kProtocolUdp;
  request.parameters.port_range = ports.count;
  request.lifetime = lifetime_;
  send({RuleRequest{call.id, std::nullopt, ports}, {}}, request, std::nullopt);
}

/// PEA if the ports of the rule are reserved, else PER.
void CallRules::enable(const Call& call, const NeededRule& rule, bool again) {
  if (again) ++restoring_;
  const auto internal = rule.internal_tuple();
  const auto external = rule.external_tuple();
  const auto reserved = call.reservations.find(rule.internal);
  if (reserved != call.reservations.end()) {
    const auto pid = reserved->second.pid;
    const PeaRequest request{
        {PortParity::kAny, rule.direction}, internal, external, lifetime_, pid};
    return send({RuleRequest{call.id, rule, rule.internal, again}, {}}, request, pid);
  }
  const auto bound = call.bound();
  const bool binds = is_nat() && std::ranges::find(bound, rule.internal) == bound.end();
  PerRequest request;
  request.parameters = {binds ? PortParity::kSame : PortParity::kAny, rule.direction};
  request.internal = internal;
  request.external = external;
  request.lifetime = lifetime_;
  send({RuleRequest{call.id, rule, std::nullopt, again}, {}}, request, std::nullopt);
}

bool CallRules::may_restore() const { return is_open() && restoring_ < kRestoringMax; }

std::optional<RuleResult> CallRules::on_result(std::uint64_t id, const SimcoResult& result,
                                               Instant now) {
  auto node = transactions_.extract(id);
  if (node.empty()) return std::nullopt;
  auto& [asked, pid] = node.mapped();
  if (!asked) {
    on_kept(pid, result, now);
    return std::nullopt;
  }
  if (asked->again) --restoring_;
  RuleResult ended{std::move(*asked), std::nullopt, result.session_lost, code_in(result.reply),
                   result.text};
  if (const auto granted = granted_in(result.reply)) {
    const auto& made = ended.made.emplace(granted->made);
    const auto& request = ended.request;
    gone(made.pid);  // an earlier rule had the same PID
    owners_[made.pid] = request.call_id;
    keeper_.keep(
        request.rule ? kept(*request.rule, made, lifetime_) : kept(*request.ports, made, lifetime_),
        granted->lifetime, now);
  }
  return ended;
}

// --- Rules that there are ------------------------------------------------------------------------

void CallRules::send_due(Instant now) {
  while (const auto request = keeper_.next_request(now)) {
    send({std::nullopt, request->pid}, request->body, request->pid);
  }
}

void CallRules::on_kept(std::optional<PolicyRuleId> pid, const SimcoResult& result, Instant now) {
  keeper_.on_end(pid, result.reply, now);
  if (result.session_lost) return;
  if (result.reply == nullptr) store_unended();
  if (!pid || result.text.empty() || keeper_.find(*pid) == nullptr) return;
  const auto owner = owners_.find(*pid);
  if (owner == owners_.end()) return;
  host_.log_call(owner->second, LogLevel::kWarning,
                 fmt::format("rule {} is not extended: {}", pid->value, result.text));
}

void CallRules::end(PolicyRuleId pid) {
  owners_.erase(pid);
  keeper_.end(pid);
  const auto* rule = is_open() ? nullptr : keeper_.find(pid);
  if (rule != nullptr && unended_.insert(pid).second) host_.on_unended(*rule);
}

std::optional<std::string> CallRules::on_rule_event(PolicyRuleId pid, Lifetime lifetime,
                                                    Instant now) {
  if (lifetime == Lifetime{0}) {
    auto node = owners_.extract(pid);
    if (!node.empty()) {
      keeper_.forget(pid);
      return std::move(node.mapped());
    }
  }
  keeper_.on_rule_event(pid, lifetime, now);
  return std::nullopt;
}

std::optional<CallRules::Lost> CallRules::take_lost() {
  while (const auto loss = keeper_.take_loss()) {
    gone(loss->pid);
    auto node = owners_.extract(loss->pid);
    if (!node.empty()) return Lost{loss->pid, std::move(node.mapped())};
  }
  return std::nullopt;
}

}  // namespace simco::ng
