// What the controller asks of the middlebox, and what becomes of the replies.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "agent/ng/controller.hpp"
#include "simco/wire/tuple_text.hpp"

namespace simco::ng {
namespace {

/// Rules are extended at a third of their lifetime: two attempts may fail.
Instant extension_of(Lifetime lifetime, Instant now) {
  return now +
         std::max<std::chrono::milliseconds>(
             std::chrono::milliseconds(std::uint64_t{lifetime.seconds} * 1000 / 3), kExtensionMin);
}

RequestedIpVersion requested(IpVersion version) {
  return version == IpVersion::kIpv4 ? RequestedIpVersion::kIpv4 : RequestedIpVersion::kIpv6;
}

}  // namespace

void CallController::send(Transaction transaction, const SimcoRequest& request) {
  transactions_.emplace(++last_transaction_, std::move(transaction));
  host_.send(last_transaction_, request);
}

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
  send({Transaction::Kind::kReserve, entry.call.id, {}, ports, {}}, request);
}

/// PEA if the ports of the rule are reserved, else PER.
void CallController::enable(Entry& entry, const NeededRule& rule, Transaction::Kind kind) {
  const auto internal = rule.internal_tuple();
  const auto external = rule.external_tuple();
  if (kind == Transaction::Kind::kEnable) ++entry.operation->pending;
  const auto reserved = entry.call.reservations.find(rule.internal);
  if (reserved != entry.call.reservations.end()) {
    const PeaRequest request{{PortParity::kAny, rule.direction},
                             internal,
                             external,
                             options_.lifetime,
                             reserved->second.pid};
    return send({kind, entry.call.id, rule, rule.internal, {}}, request);
  }
  PerRequest request;
  const auto bound = entry.call.bound();
  const bool binds =
      session_ && session_->nat && std::ranges::find(bound, rule.internal) == bound.end();
  request.parameters = {binds ? PortParity::kSame : PortParity::kAny, rule.direction};
  request.internal = internal;
  request.external = external;
  request.lifetime = options_.lifetime;
  send({kind, entry.call.id, rule, {}, {}}, request);
}

void CallController::end_rule(const std::string& call_id, PolicyRuleId pid) {
  owners_.erase(pid);
  send({Transaction::Kind::kEnd, call_id, {}, {}, pid}, PlcRequest{pid, Lifetime{0}});
}

/// Extends what is due.
void CallController::extend(Entry& entry, Instant now) {
  const auto extend_one = [&](MadeRule& made) {
    if (made.extend_at > now) return;
    made.extend_at = extension_of(options_.lifetime, now);
    if (!session_) return;
    send({Transaction::Kind::kExtend, entry.call.id, {}, {}, made.pid},
         PlcRequest{made.pid, options_.lifetime});
  };
  for (auto& [rule, made] : entry.call.rules) extend_one(made);
  for (auto& [ports, made] : entry.call.reservations) extend_one(made);
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

void CallController::on_result(std::uint64_t id, const SimcoResult& result, Instant now) {
  const auto found = transactions_.find(id);
  if (found == transactions_.end()) return;
  const auto transaction = std::move(found->second);
  transactions_.erase(found);
  // Whether it has ended is not known.
  const bool unanswered = !result && !result.error().code;
  if (transaction.kind == Transaction::Kind::kEnd && unanswered) unended_.insert(transaction.pid);
  const auto at = calls_.find(transaction.call_id);
  using Kind = Transaction::Kind;
  if (at == calls_.end()) {
    // The call has ended since.
    const bool made = transaction.kind == Kind::kReserve || transaction.kind == Kind::kEnable ||
                      transaction.kind == Kind::kRestore;
    if (made && result) end_rule(transaction.call_id, result->pid);
    return;
  }
  auto& entry = at->second;
  if (transaction.kind == Kind::kExtend) on_extended(entry, transaction.pid, result, now);
  if (transaction.kind == Kind::kExtend || transaction.kind == Kind::kEnd) {
    tell_changed(entry);
    return schedule(entry);
  }
  if (result) on_made(entry, transaction, *result, now);
  if (transaction.kind == Kind::kRestore) {
    if (!result) log(entry, LogLevel::kWarning, "a rule was lost: " + result.error().text);
  } else {
    --entry.operation->pending;
    if (!result && !entry.operation->failure) entry.operation->failure = result.error();
    go_on(entry);
  }
  run(transaction.call_id, now);
}

void CallController::on_made(Entry& entry, const Transaction& transaction, const Granted& granted,
                             Instant now) {
  auto& call = entry.call;
  entry.changed = true;
  const MadeRule made{granted.pid, granted.outside, extension_of(granted.lifetime, now)};
  const auto reserved = call.reservations.find(transaction.ports);
  if (reserved != call.reservations.end()) owners_.erase(reserved->second.pid);
  owners_[granted.pid] = call.id;
  if (transaction.kind == Transaction::Kind::kReserve) {
    call.reservations[transaction.ports] = made;
    log(entry, LogLevel::kInfo,
        fmt::format("rule {} reserved: {} for {}", granted.pid.value, to_text(granted.outside),
                    to_text(tuple_of(transaction.ports))));
    return;
  }
  if (reserved != call.reservations.end()) call.reservations.erase(reserved);
  // Asked for twice, if it was made again after a lost session while an answer wanted it as well.
  if (const auto twice = call.rules.find(transaction.rule); twice != call.rules.end()) {
    call.tally.end(twice->second.pid);
    end_rule(call.id, twice->second.pid);
  }
  call.rules[transaction.rule] = made;
  call.tally.begin(granted.pid, transaction.rule, now);
  watch_for_silence(now);
  log(entry, LogLevel::kInfo,
      fmt::format("rule {} enabled: {}", granted.pid.value, to_string(transaction.rule)));
}

void CallController::on_extended(Entry& entry, PolicyRuleId pid, const SimcoResult& result,
                                 Instant now) {
  auto* made = find(entry, pid);
  if (made == nullptr) return;  // ended since
  if (result) {
    watch_for_silence(now);
    made->extend_at = extension_of(result->lifetime, now);
    return;
  }
  log(entry, LogLevel::kWarning,
      fmt::format("rule {} is not extended: {}", pid.value, result.error().text));
  if (result.error().code == NegativeReplyCode::kNoSuchRule) forget(entry, pid);
}

MadeRule* CallController::find(Entry& entry, PolicyRuleId pid) {
  for (auto& [rule, made] : entry.call.rules) {
    if (made.pid == pid) return &made;
  }
  for (auto& [ports, made] : entry.call.reservations) {
    if (made.pid == pid) return &made;
  }
  return nullptr;
}

void CallController::forget(Entry& entry, PolicyRuleId pid) {
  owners_.erase(pid);
  entry.changed = true;
  entry.call.tally.end(pid);
  const auto is_it = [pid](const auto& item) { return item.second.pid == pid; };
  std::erase_if(entry.call.rules, is_it);
  std::erase_if(entry.call.reservations, is_it);
}

void CallController::on_rule_ended(PolicyRuleId pid) {
  const auto owner = owners_.find(pid);
  if (owner == owners_.end()) return;
  const auto call = calls_.find(owner->second);
  // A rule whose packets are still being asked for may outlive its call.
  if (call == calls_.end()) return void(owners_.erase(owner));
  auto& entry = call->second;
  log(entry, LogLevel::kWarning, fmt::format("rule {} was ended by the middlebox", pid.value));
  forget(entry, pid);
  tell_changed(entry);
  schedule(entry);
}

void CallController::on_rules_listed(const std::set<PolicyRuleId>& pids, Instant now) {
  for (const auto pid : std::exchange(unended_, {})) {
    if (pids.contains(pid) && !owners_.contains(pid)) end_rule({}, pid);
  }
  for (auto& [id, entry] : calls_) {
    std::vector<PolicyRuleId> missing;
    const auto compare = [&](MadeRule& made) {
      made.extend_at = now;
      if (!pids.contains(made.pid)) missing.push_back(made.pid);
    };
    for (auto& [rule, made] : entry.call.rules) compare(made);
    for (auto& [ports, made] : entry.call.reservations) compare(made);
    for (const auto pid : missing) {
      log(entry, LogLevel::kWarning, fmt::format("rule {} was lost", pid.value));
      forget(entry, pid);
    }
    if (!session_->nat) restore_rules(entry);
    tell_changed(entry);
    extend(entry, now);
    schedule(entry);
  }
  if (!owners_.empty()) watch_for_silence(now);
}

/// Asks for what the legs of the call need and it does not have, whenever that was lost.
void CallController::restore_rules(Entry& entry) {
  std::set<NeededRule> missing;
  for (const auto& leg : entry.call.legs) {
    for (const auto& rule : leg.rules) {
      if (!entry.call.rules.contains(rule)) missing.insert(rule);
    }
  }
  for (const auto& rule : missing) enable(entry, rule, Transaction::Kind::kRestore);
}

}  // namespace simco::ng
