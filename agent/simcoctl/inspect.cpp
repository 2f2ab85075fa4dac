#include "agent/simcoctl/inspect.hpp"

#include <algorithm>

#include "agent/limits.hpp"
#include "agent/simcoctl/limits.hpp"
#include "simco/http/client.hpp"

namespace simco::ctl {

std::expected<agent::RuleTraffics, std::string> ask_what_is_counted(
    const net::HostPort& where, std::span<const PolicyRuleId> pids) {
  agent::RuleTraffics result;
  const auto failed = [&](const std::string& why) {
    return std::unexpected(net::endpoint_text(where.host, where.port) + ": " + why);
  };
  while (!pids.empty()) {
    const auto some = pids.first(std::min(pids.size(), agent::kInspectedRulesMax));
    pids = pids.subspan(some.size());
    const auto body =
        http::get(where, agent::inspection_path(some), {kHttpPatience, kHttpAnswerMax});
    if (!body) return failed(body.error());
    auto read = agent::read_inspection(*body);
    if (!read) return failed(read.error());
    result.merge(*read);
  }
  return result;
}

}  // namespace simco::ctl
