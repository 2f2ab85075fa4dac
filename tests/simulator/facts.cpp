#include "tests/simulator/facts.hpp"

#include "tests/simulator/requests.hpp"

namespace simco::simulator {

using test::Given;
using test::Model;
using test::ModelRule;

// A rule that the kernel would not remove is there, and may be changed, until it is tried again.
Model::Verdict Facts::decide(const Request& request, Instant at) const {
  const auto pid = pid_asked_about(request.body);
  const auto rule = model.rules.find(pid);
  const bool kept =
      rule != model.rules.end() && rule->second.expires_at <= at && backend().refused_removal(pid);
  if (!kept) return model.decide(request.who, request.body, at);
  Model longer = model;
  longer.rules.at(pid).expires_at = at + std::chrono::seconds(1);
  return longer.decide(request.who, request.body, at);
}

Given Facts::given_of(std::uint32_t pid) const {
  const auto& rule = backend().table().at(pid).rule;
  Given given{pid, rule.group.value, rule.expires_at, {}, rule.inside};
  if (rule.outside) given.outside = *rule.outside;
  if (model.translates() || rule.kind == rule::RuleKind::kDisable) return given;
  given.outside = rule.internal;
  given.outside.location = Location::kOutside;
  if (rule.kind == rule::RuleKind::kEnable) {
    given.inside = rule.external;
    given.inside->location = Location::kInside;
  }
  return given;
}

void Facts::check_end(const Request& request, std::uint32_t lifetime, Instant expires_at) const {
  const auto granted = granted_to(request.who, request.body);
  demand(granted.seconds == lifetime, "another lifetime than was granted");
  const auto planned_at = expires_at - std::chrono::seconds(lifetime);
  demand(planned_at >= request.asked_at && planned_at <= now(),
         "a rule that does not end when its lifetime does");
}

bool Facts::is_due(std::uint32_t pid) const {
  const auto found = model.rules.find(pid);
  if (found == model.rules.end()) return false;
  const ModelRule& rule = found->second;
  if (rule.expires_at <= now() || doomed.contains(pid)) return true;
  return rule.kind == rule::RuleKind::kEnable && model.is_disabled(rule.internal, rule.external);
}

bool Facts::explains(const Request& request, std::uint32_t pid, std::uint32_t lifetime) const {
  if (pid_asked_about(request.body) != pid) return false;
  const auto granted = granted_to(request.who, request.body);
  if (granted.seconds != lifetime) return false;
  if (std::holds_alternative<PeaRequest>(request.body)) {
    return lifetime != 0 && model.rules.at(pid).kind == rule::RuleKind::kReserve;
  }
  return std::holds_alternative<PlcRequest>(request.body) &&
         Model::changes(request.who, model.rules.at(pid).owner);
}

Request* Facts::creating_request(std::uint32_t pid) {
  const auto enforced = backend().table().find(pid);
  if (enforced == backend().table().end()) return nullptr;
  const auto creating = enforced->second.rule.creating_tid.value;
  return find_request([&](std::uint32_t tid, const Request&) { return tid == creating; });
}

}  // namespace simco::simulator
