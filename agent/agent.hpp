// The client library: what a SIP proxy links to open pinholes on a middlebox.
//
//     simco::agent::Agent agent(io.get_executor());
//     co_await agent.open({"192.0.2.1", 7626}, use_awaitable);
//     auto rule = co_await agent.enable(
//         PerRequest::udp("10.0.0.5:5004/2", "192.0.2.7:6000/2", 60s), use_awaitable);
//     ...
//     co_await agent.remove(rule.pid, use_awaitable);
//
// A Pinhole (agent/pinhole.hpp) is a rule that renews itself and ends with its object. If the other
// end of a call is not known yet: reserve() first, and enable_reserved() later.
//
// Every transaction takes an Asio completion token: a callback, boost::asio::use_future,
// use_awaitable, as_tuple(...) and the rest. Many may be in flight at once, in any order; replies
// are matched by their TIDs. Completion handlers are posted to their associated executor (by
// default, the agent's) and never called from inside the initiating function.
//
// Threads: all members may be called from any thread if the agent's executor runs one handler at a
// time (an io_context with one thread, or a strand).
//
// Errors: AgentError if the transaction got no reply, make_reply_error(code) if the middlebox
// refused; see agent/error.hpp. After kConnectionLost or kMiddleboxTerminated call open() again, or
// have it done (AgentOptions::reconnect): rules outlive sessions (RFC 5189).
//
// Bounds: up to kAgentPendingMax (1,048,576) calls may be open. Requests that the middlebox does
// not take yet wait for their turn, in the order of the calls, for at most AgentOptions::timeout;
// so a caller need not pace itself, and sees the load as later completions. A call that is not sent
// in the end fails with kOverloaded, or kNotOpen if there was no session.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/error.hpp"
#include "agent/options.hpp"
#include "agent/outcome.hpp"
#include "simco/net/endpoint.hpp"
#include "simco/net/transport.hpp"
#include "simco/session/agent_transactions.hpp"
#include "simco/session/authentication.hpp"
#include "simco/wire/messages.hpp"

namespace simco::agent {

/// The result of reserve() (5.3.9): `pid`, for enable_reserved(); `group`; `lifetime`, which may be
/// less than requested; `outside`, the address and ports of a NAT, or `protocols only` on a
/// firewall; `inside`, on a twice NAT.
using ReservedRule = PrrReply;

/// The result of disable() (5.3.17): `pid`; `lifetime`, which may be less than requested.
using DisableRule = PdrReply;

/// The result of enable() and enable_reserved() (5.3.10): `pid`; `group`; `lifetime`, which may be
/// less than requested; `outside`, the address and ports that external hosts send to; `inside`,
/// those that the internal host sends to, not on a traditional NAT.
using EnabledRule = PerReply;

/// The result of status() (5.3.13 to 5.3.15). Which tuples are set depends on `kind`.
struct RuleStatus {
  enum class Kind : std::uint8_t { kReserved, kEnabled, kDisabled };
  Kind kind = Kind::kEnabled;
  PolicyRuleId pid;
  std::optional<GroupId> group;               ///< not of a disable rule
  std::optional<PerParameterSet> parameters;  ///< of an enabled rule
  std::optional<AddressTuple> internal;
  std::optional<AddressTuple> inside;
  std::optional<AddressTuple> outside;
  std::optional<AddressTuple> external;
  Lifetime lifetime;  ///< remaining
  std::string owner;
};

using simco::RuleEvent;

class Driver;
class Pinhole;

/// A single session with a middlebox at a time.
class Agent {
 public:
  using Options = AgentOptions;

  explicit Agent(boost::asio::any_io_executor executor) : Agent(std::move(executor), Options{}) {}
  Agent(boost::asio::any_io_executor executor, const Options& options);
  /// Closes the connection, if any; transactions end with AgentError::kConnectionLost.
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  boost::asio::any_io_executor get_executor() const { return executor_; }

  /// Connects and establishes a session (7.2). Completes with the middlebox's capabilities.
  /// Signature: void(error_code, Capabilities).
  template <class Token>
  auto open(net::HostPort target, Token&& token) {
    return start<Capabilities>(
        [target = std::move(target)](Driver& driver, Completion done) {
          start_open(driver, target, std::move(done));
        },
        &convert_capabilities, std::forward<Token>(token));
  }

  /// Ends the session (7.4), after pending transactions got their replies; or the attempts to
  /// reconnect. If it is still being opened, open() fails with AgentError::kTerminated.
  /// Signature: void(error_code).
  template <class Token>
  auto close(Token&& token) {
    return start<void>(
        [](Driver& driver, Completion done) { start_close(driver, std::move(done)); },
        &convert_nothing, std::forward<Token>(token));
  }

  /// PER transaction (8.3): opens a pinhole. Signature: void(error_code, EnabledRule).
  template <class Token>
  auto enable(const PerRequest& request, Token&& token) {
    return transact<EnabledRule>(request, std::nullopt, &convert_reply<EnabledRule>,
                                 std::forward<Token>(token));
  }

  /// PRR transaction (8.2): reserves addresses and ports for an enable rule. Signature:
  /// void(error_code, ReservedRule).
  template <class Token>
  auto reserve(const PrrRequest& request, Token&& token) {
    return transact<ReservedRule>(request, std::nullopt, &convert_reply<ReservedRule>,
                                  std::forward<Token>(token));
  }

  /// PEA transaction (8.4): turns a reservation into an open pinhole, under the same PID.
  /// Signature: void(error_code, EnabledRule).
  template <class Token>
  auto enable_reserved(const PeaRequest& request, Token&& token) {
    return transact<EnabledRule>(request, request.pid, &convert_reply<EnabledRule>,
                                 std::forward<Token>(token));
  }

  /// PDR transaction (8.8): blocks traffic and ends every rule that allows any of it, of any owner.
  /// Signature: void(error_code, DisableRule).
  template <class Token>
  auto disable(const PdrRequest& request, Token&& token) {
    return transact<DisableRule>(request, std::nullopt, &convert_reply<DisableRule>,
                                 std::forward<Token>(token));
  }

  /// PLC transaction (8.5) with a lifetime above 0: completes with the lifetime granted.
  /// Signature: void(error_code, Lifetime).
  template <class Token>
  auto change_lifetime(PolicyRuleId pid, Lifetime lifetime, Token&& token) {
    return transact<Lifetime>(PlcRequest{pid, lifetime}, pid, &convert_lifetime,
                              std::forward<Token>(token));
  }

  /// PLC transaction with lifetime 0 (8.5): ends the rule. Signature: void(error_code).
  template <class Token>
  auto remove(PolicyRuleId pid, Token&& token) {
    return transact<void>(PlcRequest{pid, Lifetime{0}}, pid, &convert_removed,
                          std::forward<Token>(token));
  }

  /// PRS transaction (8.6). Signature: void(error_code, RuleStatus).
  template <class Token>
  auto status(PolicyRuleId pid, Token&& token) {
    return transact<RuleStatus>(PrsRequest{pid}, pid, &convert_status, std::forward<Token>(token));
  }

  /// PRL transaction (8.7): the rules that this agent may access. Signature:
  /// void(error_code, std::vector<PolicyRuleId>).
  template <class Token>
  auto list(Token&& token) {
    return transact<std::vector<PolicyRuleId>>(PrlRequest{}, std::nullopt, &convert_list,
                                               std::forward<Token>(token));
  }

  /// Completes with the next ARE notification (8.9), or fails with the reason of the session's end
  /// if it is over and is not opened again. One call at a time. Until they are taken, up to
  /// kAgentEventsMax events are kept; changes between two sessions are not notified. Signature:
  /// void(error_code, RuleEvent).
  template <class Token>
  auto next_event(Token&& token) {
    return start<RuleEvent>(
        [](Driver& driver, Completion done) { start_next_event(driver, std::move(done)); },
        &convert_event, std::forward<Token>(token));
  }

 private:
  friend class Pinhole;
  static void start_open(Driver& driver, const net::HostPort& target, Completion done);
  static void start_close(Driver& driver, Completion done);
  static void start_transaction(Driver& driver, const Body& request,
                                std::optional<PolicyRuleId> rule, Completion done);
  static void start_next_event(Driver& driver, Completion done);
  /// Runs `work` on the agent's executor, at once if we are on it.
  static void run(const std::shared_ptr<Driver>& driver,
                  std::move_only_function<void(Driver*)> work);

  // Each returns false if the outcome is not possible for the transaction.
  static bool convert_capabilities(const Outcome& outcome, Capabilities& result);
  static bool convert_nothing(const Outcome& outcome);
  template <class Reply>
  static bool convert_reply(const Outcome& outcome, Reply& result) {
    const auto* reply = std::get_if<Reply>(outcome.body);
    if (reply != nullptr) result = *reply;
    return reply != nullptr;
  }
  static bool convert_lifetime(const Outcome& outcome, Lifetime& result);
  static bool convert_removed(const Outcome& outcome);
  static bool convert_status(const Outcome& outcome, RuleStatus& result);
  static bool convert_list(const Outcome& outcome, std::vector<PolicyRuleId>& result);
  static bool convert_event(const Outcome& outcome, RuleEvent& result);

  /// Erases the type of `handler`: converts the outcome and posts the handler with it.
  template <class Result, class Handler, class Convert>
  static Completion erase(const boost::asio::any_io_executor& agent_executor, Handler handler,
                          Convert convert) {
    auto executor = boost::asio::get_associated_executor(handler, agent_executor);
    auto work = boost::asio::make_work_guard(executor);
    return [handler = std::move(handler), work = std::move(work), convert](
               boost::system::error_code error, const Outcome& outcome) mutable {
      if constexpr (std::is_void_v<Result>) {
        if (!error && !convert(outcome)) error = AgentError::kProtocolError;
        boost::asio::post(work.get_executor(), [handler = std::move(handler), error]() mutable {
          std::move(handler)(error);
        });
      } else {
        Result result{};
        if (!error && !convert(outcome, result)) error = AgentError::kProtocolError;
        boost::asio::post(work.get_executor(), [handler = std::move(handler), error,
                                                result = std::move(result)]() mutable {
          std::move(handler)(error, std::move(result));
        });
      }
    };
  }

  template <class Result>
  struct SignatureOf {
    using Type = void(boost::system::error_code, Result);
  };

  /// Starts an operation of the driver `weak`, whose executor is `agent_executor`. Weak: a waiting
  /// coroutine keeps the lambda, and the driver keeps the operation that it waits for.
  template <class Result, class Initiate, class Convert, class Token>
  static auto start_on(std::weak_ptr<Driver> weak, boost::asio::any_io_executor agent_executor,
                       Initiate initiate, Convert convert, Token&& token) {
    return boost::asio::async_initiate<Token, typename SignatureOf<Result>::Type>(
        [weak = std::move(weak), executor = std::move(agent_executor),
         initiate = std::move(initiate), convert = std::move(convert)](auto handler) mutable {
          auto done = erase<Result>(executor, std::move(handler), convert);
          const auto driver = weak.lock();
          if (driver == nullptr) return done(AgentError::kNotOpen, {});
          run(driver, [done = std::move(done), initiate = std::move(initiate)](
                          Driver* self) mutable { initiate(*self, std::move(done)); });
        },
        token);
  }

  template <class Result, class Initiate, class Convert, class Token>
  auto start(Initiate initiate, Convert convert, Token&& token) {
    return start_on<Result>(driver_, executor_, std::move(initiate), std::move(convert),
                            std::forward<Token>(token));
  }

  template <class Result, class Request, class Convert, class Token>
  auto transact(const Request& request, std::optional<PolicyRuleId> rule, Convert convert,
                Token&& token) {
    return start<Result>(
        [request, rule](Driver& driver, Completion done) {
          start_transaction(driver, request, rule, std::move(done));
        },
        convert, std::forward<Token>(token));
  }

  boost::asio::any_io_executor executor_;
  std::shared_ptr<Driver> driver_;
};

template <>
struct Agent::SignatureOf<void> {
  using Type = void(boost::system::error_code);
};

}  // namespace simco::agent
