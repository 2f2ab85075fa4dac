#include "agent/simcoctl/inspect.hpp"

#include <algorithm>
#include <boost/system/system_error.hpp>
#include <exception>

#include "agent/limits.hpp"
#include "agent/simcoctl/http_get.hpp"

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
    try {
      auto read = agent::read_inspection(http_get(where, agent::inspection_path(some)));
      if (!read) return failed(read.error());
      result.merge(*read);
    } catch (const boost::system::system_error& failure) {
      return failed(failure.code().message());
    } catch (const std::exception& failure) {
      return failed(failure.what());
    }
  }
  return result;
}

}  // namespace simco::ctl
