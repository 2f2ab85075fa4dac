#include "tests/simulator/requests.hpp"

#include "tests/support/figures.hpp"

namespace simco::simulator {

std::string text(std::uint32_t pid) { return "rule " + std::to_string(pid); }

std::string text(const Body& body) {
  std::string result(name_of(type_of(body)));
  if (const auto code = test::refusal(body)) result += " " + std::string(to_string(*code));
  return result;
}

std::string text(const test::Model::Verdict& verdict) {
  if (verdict.shortage) return "a shortage";
  return verdict.refusal ? std::string(to_string(*verdict.refusal)) : "being granted";
}

std::uint32_t pid_asked_about(const Body& request) {
  if (const auto* plc = std::get_if<PlcRequest>(&request)) return plc->pid.value;
  if (const auto* pea = std::get_if<PeaRequest>(&request)) return pea->pid.value;
  if (const auto* prs = std::get_if<PrsRequest>(&request)) return prs->pid.value;
  return 0;
}

namespace {

Lifetime lifetime_wished(const Body& request) {
  return std::visit(
      [](const auto& body) -> Lifetime {
        if constexpr (requires { body.lifetime; }) return body.lifetime;
        return {};
      },
      request);
}

}  // namespace

std::optional<GroupId> group_asked_for(const Body& request) {
  if (const auto* per = std::get_if<PerRequest>(&request)) return per->group;
  if (const auto* prr = std::get_if<PrrRequest>(&request)) return prr->group;
  return std::nullopt;
}

Body without_group(Body request) {
  if (auto* per = std::get_if<PerRequest>(&request)) per->group.reset();
  if (auto* prr = std::get_if<PrrRequest>(&request)) prr->group.reset();
  return request;
}

std::string describe(const Body& body) {
  if (const auto* are = std::get_if<AreNotification>(&body)) {
    return "ARE " + text(are->pid.value) + ", " + std::to_string(are->lifetime.seconds) + " s";
  }
  const auto pid = pid_asked_about(body);
  const auto lifetime = lifetime_wished(body).seconds;
  return text(body) + (pid == 0 ? "" : " about " + text(pid)) +
         (lifetime == 0 ? "" : ", " + std::to_string(lifetime) + " s");
}

Lifetime granted_to(const std::string& who, const Body& request) {
  return test::Model::grant(who, lifetime_wished(request));
}

}  // namespace simco::simulator
