// The output of simcoctl: lines of text, or JSON.
#pragma once

#include <boost/system/error_code.hpp>
#include <string>
#include <vector>

#include "agent/agent.hpp"
#include "agent/simcoctl/explain.hpp"

namespace simco::ctl {

/// Prints results on standard output, each flushed at once.
class Printer {
 public:
  explicit Printer(bool json) : json_(json) {}

  void print(const agent::ReservedRule& rule) const;
  void print(const agent::EnabledRule& rule) const;
  void print(const agent::DisableRule& rule) const;
  void print(const agent::RuleStatus& rule) const;
  void print(const agent::RuleEvent& event) const;
  void print(const std::vector<PolicyRuleId>& pids) const;
  void print(const Explanation& explanation) const;
  void print_lifetime(PolicyRuleId pid, Lifetime lifetime) const;
  /// Prints an error on standard error and, in JSON mode, also as JSON on standard output, where
  /// scripts look for it.
  void print_error(const boost::system::error_code& error, const std::string& doing) const;

 private:
  bool json_;
};

}  // namespace simco::ctl
