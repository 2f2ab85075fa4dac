// What the operator may ask a running middlebox over HTTP: what its rules have counted. RFC 4540
// has no attribute for that. Without authentication, so for trusted addresses only.
//
//   GET /rules/7,9
//   {"counting":true,"run":2918371042,"rules":[{"pid":7,"packets":150,"octets":30000,
//                          "last_packet":{"after_ms":2100,"until_ms":40},"complete_ms":61000,
//                          "read_ms":0,"ports":[{"port":5004,"packets":150,"octets":30000}]}]}
//
// Times are ages: milliseconds before the answer. Rules that do not exist are left out. `run` is
// another number after each start: counts begin at 0 then.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "middlebox/rule/rule_traffic.hpp"
#include "simco/wire/ids.hpp"

namespace simco::middlebox {

/// What rules have counted: those that were asked for and are in force.
struct CountedRules {
  bool counting = false;  ///< the backend counts
  std::uint32_t run = 0;  ///< a random number of this process
  Instant now{};
  std::vector<std::pair<PolicyRuleId, rule::RuleTraffic>> rules;
};

/// Returns the answer as JSON.
std::string to_json(const CountedRules& counted);
/// Returns the rules that the path of a request names; nullopt if it is not of the form above, or
/// names more than kInspectedRulesMax.
std::optional<std::vector<PolicyRuleId>> rules_in(std::string_view path);

/// Serves on the loop of `io`, one request for each connection.
class Inspector {
 public:
  using Ask = std::function<CountedRules(std::span<const PolicyRuleId>)>;

  /// Listens at `endpoint`, ADDRESS:PORT. Throws std::runtime_error with a sentence if it cannot.
  Inspector(boost::asio::io_context& io, const std::string& endpoint, Ask ask);
  Inspector(const Inspector&) = delete;
  Inspector& operator=(const Inspector&) = delete;

 private:
  class Connection;

  void accept();

  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer pause_;
  Ask ask_;
  /// Of open connections, at most kInspectorConnectionsMax; further ones are closed at once.
  std::shared_ptr<std::size_t> open_ = std::make_shared<std::size_t>(0);
};

}  // namespace simco::middlebox
