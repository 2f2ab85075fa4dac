// Asks a middlebox over HTTP for the counts of rules (its --inspect). The middlebox serves few
// connections at a time, and many calls may end at once: so there is one request at a time, and
// later questions wait for the next request, which takes as many of them as fit.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "agent/ng/call/call_host.hpp"
#include "simco/net/endpoint.hpp"

namespace simco::ng {

/// Lives on one loop, and must be destroyed after the loop has stopped.
class CounterClient {
 public:
  using Handler = std::function<void(const Counted&)>;

  /// `where`: the middlebox's --inspect, an address.
  CounterClient(boost::asio::io_context& io, net::HostPort where)
      : io_(io), where_(std::move(where)) {}

  /// Asks for the counts of the rules. Calls `handler` once, from the loop and never from inside
  /// this function, within kCountersPatience; for more than agent::kInspectedRulesMax rules, which
  /// are asked in parts, within that for each part.
  void ask(std::vector<PolicyRuleId> pids, Handler handler);

 private:
  struct Question {
    explicit Question(boost::asio::io_context& io) : timer(io) {}
    std::vector<PolicyRuleId> left;  ///< not asked yet
    agent::RuleTraffics counted;
    Instant due;
    Handler handler;                  ///< null: it was called
    boost::asio::steady_timer timer;  ///< calls it when the question is due
  };
  using QuestionPtr = std::shared_ptr<Question>;
  /// A question, and how many of its rules a request asks: the last ones of those that are left.
  struct Part {
    QuestionPtr question;
    std::size_t count;
  };

  boost::asio::awaitable<void> work();
  std::vector<Part> take_parts();
  void wait_for_answer(const QuestionPtr& question);
  void give_up(Question& question) const;
  void answer(Part part, const Counted& counted);

  boost::asio::io_context& io_;
  net::HostPort where_;
  std::deque<QuestionPtr> waiting_;
  bool working_ = false;
};

}  // namespace simco::ng
