// The output of simcoctl: lines of text, or JSON.
#pragma once

#include <boost/system/error_code.hpp>
#include <optional>
#include <string>
#include <vector>

#include "agent/agent.hpp"
#include "agent/rule_traffic.hpp"
#include "agent/simcoctl/explain.hpp"

namespace simco::ctl {

/// Prints results on standard output, each flushed at once.
class Printer {
 public:
  explicit Printer(bool json) : json_(json) {}

  void print(const agent::ReservedRule& rule) const;
  /// `internal`, `external`: as requested. Translated tuples are printed if they differ.
  void print(const agent::EnabledRule& rule, const AddressTuple& internal,
             const AddressTuple& external) const;
  /// `ended`: the rules that this agent saw before it and not after it, if it may list rules.
  void print(const agent::DisableRule& rule,
             const std::optional<std::vector<PolicyRuleId>>& ended) const;
  /// `traffic`: the counts of rules; null if unknown.
  void print(const agent::RuleStatus& rule, const agent::RuleTraffics* traffic = nullptr) const;
  /// A line for each rule below a heading; JSON: the lines of print().
  void print_table(const std::vector<agent::RuleStatus>& rules,
                   const agent::RuleTraffics* traffic = nullptr) const;
  /// With the time; `status`: of the rule, if it was asked for.
  void print(const agent::RuleEvent& event, const std::optional<agent::RuleStatus>& status) const;
  void print(const std::vector<PolicyRuleId>& pids) const;
  void print(const Explanation& explanation) const;
  void print_lifetime(PolicyRuleId pid, Lifetime lifetime) const;
  /// Prints an error on standard error and, in JSON mode, also as JSON on standard output, where
  /// scripts look for it. `hint`: the remedy, or empty.
  void print_error(const boost::system::error_code& error, const std::string& doing,
                   const std::string& hint) const;

 private:
  bool json_;
};

}  // namespace simco::ctl
