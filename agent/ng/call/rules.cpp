// What the controller asks of the middlebox, and what becomes of the replies.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "agent/ng/call/controller.hpp"
#include "simco/wire/tuple_text.hpp"

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

bool needs(const Call& call, const NeededRule& rule) {
  return std::ranges::any_of(call.legs, [&](const Leg& leg) {
    return std::ranges::find(leg.rules, rule) != leg.rules.end();
  });
}

}  // namespace

void CallController::send(Transaction transaction, const Body& request,
                          std::optional<PolicyRuleId> rule) {
  transactions_.emplace(++last_transaction_, std::move(transaction));
  host_.send(last_transaction_, request, rule);
}

// --- Sessions ------------------------------------------------------------------------------------

void CallController::on_session(const Capabilities& capabilities, Instant now) {
  session_ = capabilities;
  lost_at_.reset();
  keeper_.on_session_open();
  to_restore_.clear();
  if (!capabilities.nat) {
    for (const auto& [id, entry] : calls_) restore_rules(entry);
  }
  if (!owners_.empty()) watch_for_silence(now);
  tend(now);
}

void CallController::on_session_lost(Instant now) {
  if (!lost_at_) lost_at_ = now;
  keeper_.on_session_end();
  note_unended();
}

/// The next events may come after a restart.
void CallController::note_unended() {
  for (const auto& rule : keeper_.unended()) {
    if (unended_.insert(rule.pid).second) host_.on_unended(rule);
  }
}

void CallController::restore_unended(const KeptRule& rule, Instant now) {
  keeper_.keep(rule, options_.lifetime, now);
  keeper_.end(rule.pid);
  unended_.insert(rule.pid);
}

// --- Rules that an operation needs ---------------------------------------------------------------

/// PRR: pairs at an even port, single ports with the parity that they have.
void CallController::reserve(Entry& entry, const InternalPorts& ports) {
  PrrRequest request;
  request.parameters.parity =
      ports.count == 2 || ports.port % 2 == 0 ? ReservedParity::kEven : ReservedParity::kOdd;
  request.parameters.inside_version = request.parameters.outside_version =
      requested(ports.address.version);
  request.parameters.protocol = kProtocolUdp;
  request.parameters.port_range = ports.count;
  request.lifetime = options_.lifetime;
  ++entry.operation->pending;
  send({Transaction::Kind::kReserve, entry.call.id, {}, ports, {}}, request, std::nullopt);
}

/// PEA if the ports of the rule are reserved, else PER.
void CallController::enable(Entry& entry, const NeededRule& rule, Transaction::Kind kind) {
  const auto internal = rule.internal_tuple();
  const auto external = rule.external_tuple();
  ++(kind == Transaction::Kind::kEnable ? entry.operation->pending : restoring_);
  const auto reserved = entry.call.reservations.find(rule.internal);
  if (reserved != entry.call.reservations.end()) {
    const auto pid = reserved->second.pid;
    const PeaRequest request{
        {PortParity::kAny, rule.direction}, internal, external, options_.lifetime, pid};
    return send({kind, entry.call.id, rule, rule.internal, {}}, request, pid);
  }
  PerRequest request;
  const auto bound = entry.call.bound();
  const bool binds =
      session_ && session_->nat && std::ranges::find(bound, rule.internal) == bound.end();
  request.parameters = {binds ? PortParity::kSame : PortParity::kAny, rule.direction};
  request.internal = internal;
  request.external = external;
  request.lifetime = options_.lifetime;
  send({kind, entry.call.id, rule, {}, {}}, request, std::nullopt);
}

void CallController::on_result(std::uint64_t id, const SimcoResult& result, Instant now) {
  const auto node = transactions_.extract(id);
  if (node.empty()) return;
  const auto& transaction = node.mapped();
  if (transaction.kind == Transaction::Kind::kKeep) {
    on_kept(transaction, result, now);
  } else {
    if (transaction.kind == Transaction::Kind::kRestore) --restoring_;
    on_asked(transaction, result, now);
  }
  tend(now);
}

void CallController::on_asked(const Transaction& transaction, const SimcoResult& result,
                              Instant now) {
  const auto granted = granted_in(result.reply);
  if (granted) {
    const auto& made = granted->made;
    const auto rule = transaction.kind == Transaction::Kind::kReserve
                          ? kept(transaction.ports, made, options_.lifetime)
                          : kept(transaction.rule, made, options_.lifetime);
    if (unended_.erase(made.pid) != 0) host_.on_rule_gone(made.pid);  // its PID is another rule's
    keeper_.keep(rule, granted->lifetime, now);
  }
  const auto at = calls_.find(transaction.call_id);
  if (at == calls_.end()) {  // ended since
    if (granted) end_rule(granted->made.pid);
    return;
  }
  auto& entry = at->second;
  if (granted) on_made(entry, transaction, granted->made, now);
  if (transaction.kind == Transaction::Kind::kRestore) {
    if (!granted && !result.session_lost) {
      log(entry, LogLevel::kWarning, "a rule was lost: " + result.text);
    }
    return run(transaction.call_id);
  }
  --entry.operation->pending;
  if (result.session_lost && !entry.operation->asked.replied) {
    return transaction.kind == Transaction::Kind::kReserve
               ? reserve(entry, transaction.ports)
               : enable(entry, transaction.rule, transaction.kind);
  }
  if (!granted && !entry.operation->failure) {
    entry.operation->failure = Refusal{code_in(result.reply), result.text};
  }
  go_on(entry);
  run(transaction.call_id);
}

void CallController::on_made(Entry& entry, const Transaction& transaction, const MadeRule& made,
                             Instant now) {
  auto& call = entry.call;
  entry.changed = true;
  const auto reserved = call.reservations.find(transaction.ports);
  if (reserved != call.reservations.end()) owners_.erase(reserved->second.pid);
  owners_[made.pid] = call.id;
  if (transaction.kind == Transaction::Kind::kReserve) {
    call.reservations[transaction.ports] = made;
    log(entry, LogLevel::kInfo,
        fmt::format("rule {} reserved: {} for {}", made.pid.value, to_text(made.outside),
                    to_text(tuple_of(transaction.ports))));
    return;
  }
  if (reserved != call.reservations.end()) call.reservations.erase(reserved);
  // Asked for twice, if it was made again after a lost session while an answer wanted it as well.
  if (const auto twice = call.rules.find(transaction.rule); twice != call.rules.end()) {
    call.tally.end(twice->second.pid);
    end_rule(twice->second.pid);
  }
  call.rules[transaction.rule] = made;
  call.tally.begin(made.pid, transaction.rule, now);
  watch_for_silence(now);
  log(entry, LogLevel::kInfo,
      fmt::format("rule {} enabled: {}", made.pid.value, to_string(transaction.rule)));
}

// --- Rules that there are ------------------------------------------------------------------------

void CallController::tend(Instant now) {
  while (const auto request = keeper_.next_request(now)) {
    send({Transaction::Kind::kKeep, {}, {}, {}, request->pid}, request->body, request->pid);
  }
  while (const auto loss = keeper_.take_loss()) lose(*loss);
  restore_next();
}

void CallController::on_kept(const Transaction& transaction, const SimcoResult& result,
                             Instant now) {
  keeper_.on_end(transaction.pid, result.reply, now);
  if (result.reply == nullptr && !result.session_lost) note_unended();
  if (!transaction.pid || result.text.empty() || result.session_lost) return;
  const auto owner = owners_.find(*transaction.pid);
  if (owner == owners_.end() || keeper_.find(*transaction.pid) == nullptr) return;
  const auto call = calls_.find(owner->second);
  if (call == calls_.end()) return;
  log(call->second, LogLevel::kWarning,
      fmt::format("rule {} is not extended: {}", transaction.pid->value, result.text));
}

/// Ends the rules and reservations that the call no longer needs.
void CallController::sweep(Entry& entry) {
  const auto released = entry.call.release();
  for (const auto pid : released) {
    log(entry, LogLevel::kInfo, fmt::format("rule {} ended", pid.value));
    entry.changed = true;
  }
  end_counted(entry, released);
}

void CallController::end_rule(PolicyRuleId pid) {
  owners_.erase(pid);
  keeper_.end(pid);
  const auto* rule = is_open() ? nullptr : keeper_.find(pid);
  if (rule != nullptr && unended_.insert(pid).second) host_.on_unended(*rule);
}

void CallController::on_rule_event(PolicyRuleId pid, Lifetime lifetime, Instant now) {
  const auto owner = owners_.find(pid);
  const auto call = owner == owners_.end() ? calls_.end() : calls_.find(owner->second);
  if (lifetime == Lifetime{0} && call != calls_.end()) {
    auto& entry = call->second;
    log(entry, LogLevel::kWarning, fmt::format("rule {} was ended by the middlebox", pid.value));
    keeper_.forget(pid);
    forget(entry, pid);
    tell_changed(entry);
    schedule(entry);
  } else {
    keeper_.on_rule_event(pid, lifetime, now);
  }
  tend(now);
}

void CallController::lose(const RuleKeeper::Loss& loss) {
  if (unended_.erase(loss.pid) != 0) host_.on_rule_gone(loss.pid);
  const auto owner = owners_.find(loss.pid);
  if (owner == owners_.end()) return;
  const auto at = calls_.find(owner->second);
  // A rule whose packets are still being asked for may outlive its call.
  if (at == calls_.end()) return void(owners_.erase(owner));
  auto& entry = at->second;
  log(entry, LogLevel::kWarning, fmt::format("rule {} was lost", loss.pid.value));
  const auto rule = forget(entry, loss.pid);
  if (rule && is_open() && !session_->nat) to_restore_.emplace_back(entry.call.id, *rule);
  tell_changed(entry);
  schedule(entry);
}

std::optional<NeededRule> CallController::forget(Entry& entry, PolicyRuleId pid) {
  owners_.erase(pid);
  entry.changed = true;
  entry.call.tally.end(pid);
  const auto is_it = [pid](const auto& item) { return item.second.pid == pid; };
  std::erase_if(entry.call.reservations, is_it);
  const auto found = std::ranges::find_if(entry.call.rules, is_it);
  if (found == entry.call.rules.end()) return std::nullopt;
  return entry.call.rules.extract(found).key();
}

/// Asks for what the legs of the call need and it does not have, whenever that was lost.
void CallController::restore_rules(const Entry& entry) {
  std::set<NeededRule> missing;
  for (const auto& leg : entry.call.legs) {
    for (const auto& rule : leg.rules) {
      if (!entry.call.rules.contains(rule)) missing.insert(rule);
    }
  }
  for (const auto& rule : missing) to_restore_.emplace_back(entry.call.id, rule);
}

void CallController::restore_next() {
  while (is_open() && restoring_ < kRestoringMax && !to_restore_.empty()) {
    const auto [call_id, rule] = std::move(to_restore_.front());
    to_restore_.pop_front();
    const auto at = calls_.find(call_id);
    if (at == calls_.end()) continue;
    const auto& call = at->second.call;
    if (!needs(call, rule) || call.rules.contains(rule)) continue;
    enable(at->second, rule, Transaction::Kind::kRestore);
  }
}

}  // namespace simco::ng
