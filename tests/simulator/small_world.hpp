// Policy engine and commit pipeline with two agents, a few requests and a backend that accepts or
// refuses when it is told to; each reply and each change is compared with the plain model. The
// steps are the caller's, so that all orders of them can be tried.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/simulator/kept_rules.hpp"
#include "tests/simulator/model.hpp"
#include "tests/support/pipeline_fixture.hpp"

namespace simco::simulator {

/// What can happen next. Requests about a rule name the first, or the second, that was ever made.
enum class Step : std::uint8_t {
  kEnable,     ///< a: PER
  kEnableToo,  ///< boss: PER, of packets that the disable rule does not concern
  kReserve,    ///< a: PRR
  kUseFirst,   ///< a: PEA on the first rule
  kUseSecond,  ///< a: PEA on the second rule
  kShorten,    ///< a: PLC of the first rule
  kEndFirst,   ///< boss: PLC of the first rule, with lifetime 0
  kEndSecond,  ///< a: PLC of the second rule, with lifetime 0
  kDisable,    ///< boss: PDR
  kAskFirst,   ///< boss: PRS of the first rule
  kList,       ///< a: PRL
  kBegin,      ///< the backend gets a batch
  kAccept,     ///< it accepts the batch
  kRefuse,     ///< it refuses the first change of the batch
  kExpire,     ///< time goes on to the end of the rule that ends first
  kCount
};
const char* name_of(Step step);

class SmallWorld {
 public:
  static constexpr std::size_t kRulesMade = 2;    ///< rules that a run makes at most
  static constexpr std::size_t kUnderWayMax = 3;  ///< requests without a reply

  SmallWorld();

  bool is_possible(Step step) const;
  /// Throws Fault if the middlebox does not do what the model says.
  void take(Step step);
  /// Has the backend accept everything that is under way; then all must be answered.
  void come_to_rest();
  /// Two worlds with the same state behave alike: identifiers are numbered as they were made.
  std::string state() const;
  test::PipelineFixture& box() { return box_; }
  /// The process dies, and another one recovers the rules: returns their kinds, by PID. Must be the
  /// last call.
  std::map<std::uint32_t, rule::RuleKind> die();
  /// The same; throws Fault if a rule is lost, or one that was over is back.
  void judge_death();

 private:
  struct Pending {
    std::string who;
    test::PipelineFixture::Agent* agent;
    std::uint32_t tid;
    Body request;
    Instant asked_at;
    bool refused_by_backend = false;
  };

  bool asks_about(Step step, std::size_t rule) const;
  Body request_of(Step step) const;
  void ask(Step step);
  void observe();
  void settle(const policy::RuleEvent& event);
  void judge_end(const policy::RuleEvent& event);
  void judge_new(const policy::RuleEvent& event);
  void judge_change(const policy::RuleEvent& event);
  bool is_refused(const Pending& one) const;
  void judge_positive(const Pending& pending, const Body& reply) const;
  void check_backend() const;
  void judge_reply(const Pending& pending, const Body& reply);
  bool may_refuse(const Pending& pending, const Body& reply) const;
  test::Given judge_grant(const Pending& pending, const policy::RuleEvent& event) const;
  Instant end_of(PolicyRuleId pid) const;
  bool is_hit(std::uint32_t pid) const;
  bool is_due(const test::Model& model, std::uint32_t pid) const;
  Pending* asker_of(std::uint32_t pid, bool ends);
  const Body* reply_to(const Pending& pending) const;
  std::string number_of(std::uint32_t pid) const;
  void check_quiet();

  KeptRules kept_;
  test::PipelineFixture box_;
  test::PipelineFixture::Agent& a_;
  test::PipelineFixture::Agent& boss_;
  test::PipelineFixture::Agent& auditor_;  ///< another session of boss
  test::Model model_{test::Mode::kFirewall};
  std::vector<test::Model> moments_;  ///< models since the last step
  std::vector<Pending> pending_;
  std::vector<std::uint32_t> made_;            ///< PIDs
  std::set<std::uint32_t> stuck_;              ///< PIDs of changes that the backend has refused
  std::vector<rule::RuleChange> carried_out_;  ///< the last batch
  std::vector<std::vector<rule::RuleChange>> done_;  ///< changes that the backend has made
  std::map<std::uint32_t, std::uint32_t> granted_;   ///< lifetime, by the TID of the request
  std::set<std::uint32_t> ended_;                    ///< PIDs
  std::size_t heard_ = 0;                            ///< events of the auditor
};

}  // namespace simco::simulator
