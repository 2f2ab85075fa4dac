// A pinhole as an object: open while the object lives.
//
//     auto media = co_await Pinhole::open(
//         agent, PerRequest::udp("10.0.0.5:5004/2", "192.0.2.7:6000/2", 60s), use_awaitable);
//     tell(media.rule().outside);  // where the other end sends to
//     ...
//     co_await media.close(use_awaitable);  // or just destroy it
//
// The rule is renewed in the middle of each lifetime, so choose the lifetime by how long the
// pinhole may stay open after this program has failed: a minute, say. After a lost session it is
// looked for in the next one (AgentOptions::reconnect, or another open()). If it cannot be kept,
// lost() says so; no other rule is requested, because on a NAT the addresses would be others.
#pragma once

#include <concepts>
#include <memory>
#include <utility>

#include "agent/agent.hpp"
#include "simco/session/rule_keeper.hpp"

namespace simco::agent {

/// An enable rule. Movable; an object that was moved from, or made without a rule, holds none, and
/// can only be assigned to or destroyed. Members may be called from any thread if the agent's may,
/// but one at a time.
class Pinhole {
 public:
  /// Holds no rule.
  Pinhole() = default;
  /// Ends the rule without waiting for the reply. If the agent is destroyed right after it, or has
  /// no session, the rule ends with its lifetime.
  ~Pinhole() { drop(); }
  Pinhole(Pinhole&& other) noexcept
      : driver_(std::exchange(other.driver_, {})),
        executor_(other.executor_),
        held_(std::exchange(other.held_, {})),
        rule_(other.rule_) {}
  Pinhole& operator=(Pinhole&& other) noexcept {
    if (this != &other) {
      drop();
      driver_ = std::exchange(other.driver_, {});
      executor_ = other.executor_;
      held_ = std::exchange(other.held_, {});
      rule_ = other.rule_;
    }
    return *this;
  }

  /// PER transaction (8.3), or PEA transaction (8.4), which turns a reservation into the pinhole.
  /// `request`: renewals ask for the same lifetime. Signature: void(error_code, Pinhole).
  template <class Request = PerRequest, class Token>
    requires std::same_as<Request, PerRequest> || std::same_as<Request, PeaRequest>
  static auto open(Agent& agent, const Request& request, Token&& token) {
    return agent.start<Pinhole>(
        [request](Driver& driver, Completion done) {
          start_open(driver, request, std::move(done));
        },
        [driver = std::weak_ptr(agent.driver_), executor = agent.executor_](const Outcome& outcome,
                                                                            Pinhole& result) {
          if (!outcome.held || !Agent::convert_reply(outcome, result.rule_)) return false;
          result.held_ = *outcome.held;
          result.driver_ = driver;
          result.executor_ = executor;
          return true;
        },
        std::forward<Token>(token));
  }

  /// Whether the object holds a rule, be it lost or closed.
  explicit operator bool() const { return held_ != HeldRule{}; }
  /// The middlebox's grant when the pinhole was opened.
  const EnabledRule& rule() const { return rule_; }

  /// Completes when the rule is lost, or at once if it is, with the reason. Fails with
  /// AgentError::kTerminated when the pinhole is closed, released or destroyed, and with
  /// kConnectionLost when the agent is. One call at a time. Signature: void(error_code, RuleLoss).
  template <class Token>
  auto lost(Token&& token) {
    return Agent::start_on<RuleLoss>(
        driver_, executor_,
        [held = held_](Driver& driver, Completion done) {
          start_lost(driver, held, std::move(done));
        },
        &convert_loss, std::forward<Token>(token));
  }

  /// Ends the rule (PLC with lifetime 0). Succeeds as well if it is lost already.
  /// Signature: void(error_code).
  template <class Token>
  auto close(Token&& token) {
    return Agent::start_on<void>(
        driver_, executor_,
        [held = held_](Driver& driver, Completion done) {
          start_close(driver, held, std::move(done));
        },
        &Agent::convert_nothing, std::forward<Token>(token));
  }

  /// Gives up the rule without ending it: it is not renewed any longer, and lives for the rest of
  /// its lifetime unless the caller sees to it by its PID. The object holds none afterwards.
  EnabledRule release();

 private:
  static void start_open(Driver& driver, const Body& request, Completion done);
  static void start_lost(Driver& driver, HeldRule held, Completion done);
  static void start_close(Driver& driver, HeldRule held, Completion done);
  static bool convert_loss(const Outcome& outcome, RuleLoss& result);
  void drop();

  std::weak_ptr<Driver> driver_;
  boost::asio::any_io_executor executor_;
  HeldRule held_;  ///< 0: none
  EnabledRule rule_;
};

}  // namespace simco::agent
