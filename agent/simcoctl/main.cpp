// simcoctl: opens a session, runs a command, prints the result, and closes the session. `top` reads
// the metrics instead and needs no session.
#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agent/agent.hpp"
#include "agent/limits.hpp"
#include "agent/pinhole.hpp"
#include "agent/rule_traffic.hpp"
#include "agent/simcoctl/child.hpp"
#include "agent/simcoctl/hint.hpp"
#include "agent/simcoctl/limits.hpp"
#include "agent/simcoctl/options.hpp"
#include "agent/simcoctl/print.hpp"
#include "simco/http/client.hpp"
#include "simco/net/limits.hpp"

namespace {

using namespace simco;
using boost::asio::awaitable;
using boost::system::error_code;
constexpr const char* kProgram = "simcoctl";
/// Exit status if a program to run cannot be started, as a shell has it.
constexpr int kNotFound = 127;
constexpr auto kToken = boost::asio::as_tuple(boost::asio::use_awaitable);

/// Returns the counts of `pids` from a middlebox's address `where` (its --inspect). Blocks. The
/// error has the address and the reason.
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
        http::get(where, agent::inspection_path(some), {ctl::kHttpPatience, ctl::kHttpAnswerMax});
    if (!body) return failed(body.error());
    auto read = agent::read_inspection(*body);
    if (!read) return failed(read.error());
    result.merge(*read);
  }
  return result;
}

/// Runs a command. Each step prints its result or error and returns whether it succeeded.
class Runner {
 public:
  Runner(agent::Agent& agent, const ctl::Settings& settings, const ctl::Printer& printer)
      : agent_(agent), settings_(settings), printer_(printer) {}

  awaitable<bool> run(PerRequest request) {
    auto [error, rule] = co_await agent_.enable(request, kToken);
    if (!error) printer_.print(rule, request.internal, request.external);
    co_return ok(error, "enable");
  }
  awaitable<bool> run(PeaRequest request) {
    auto [error, rule] = co_await agent_.enable_reserved(request, kToken);
    if (!error) printer_.print(rule, request.internal, request.external);
    co_return ok(error, "enable");
  }
  awaitable<bool> run(PrrRequest request) {
    auto [error, rule] = co_await agent_.reserve(request, kToken);
    co_return done(error, "reserve", rule);
  }
  awaitable<bool> run(PdrRequest request) {
    // A rule that it ends is in the list before and not in that after.
    auto [unknown_before, before] = co_await agent_.list(kToken);
    auto [error, rule] = co_await agent_.disable(request, kToken);
    if (error) co_return ok(error, "disable");
    std::optional<std::vector<PolicyRuleId>> ended;
    if (!unknown_before) {
      auto [unknown_after, after] = co_await agent_.list(kToken);
      if (!unknown_after) ended = missing(before, after);
    }
    printer_.print(rule, ended);
    co_return true;
  }
  awaitable<bool> run(ctl::Lifetimes change) {
    if (change.lifetime == Lifetime{0}) co_return co_await remove(change.pid);
    auto [error, lifetime] = co_await agent_.change_lifetime(change.pid, change.lifetime, kToken);
    if (!error) printer_.print_lifetime(change.pid, lifetime);
    co_return ok(error, about("lifetime", change.pid));
  }
  awaitable<bool> run(ctl::Delete wanted) {
    bool good = true;
    for (const auto pid : wanted.pids) good = co_await remove(pid) && good;
    co_return good;
  }
  awaitable<bool> run(ctl::Status wanted) {
    bool good = true;
    std::vector<agent::RuleStatus> rules;
    for (const auto pid : wanted.pids) {
      auto [error, rule] = co_await agent_.status(pid, kToken);
      good = ok(error, about("status", pid)) && good;
      if (!error) rules.push_back(std::move(rule));
    }
    const auto traffic = count(rules);
    for (const auto& rule : rules) printer_.print(rule, traffic ? &*traffic : nullptr);
    co_return good && (traffic || !settings_.inspect);
  }
  awaitable<bool> run(ctl::List wanted) {
    auto [error, pids] = co_await agent_.list(kToken);
    if (error || wanted.only_pids) co_return done(error, "list", pids);
    std::vector<agent::RuleStatus> rules;
    const bool good = co_await collect(pids, rules);
    const auto traffic = count(rules);
    printer_.print_table(rules, traffic ? &*traffic : nullptr);
    co_return good && (traffic || !settings_.inspect);
  }
  awaitable<bool> run(ctl::Explain wanted) {
    auto [error, pids] = co_await agent_.list(kToken);
    if (error) co_return ok(error, "explain");
    std::vector<agent::RuleStatus> rules;
    if (!co_await collect(pids, rules)) co_return false;
    printer_.print(ctl::explain(wanted, rules));
    co_return true;
  }
  awaitable<bool> run(ctl::Watch wanted) {
    for (std::uint64_t seen = 0; wanted.count == 0 || seen < wanted.count; ++seen) {
      auto [error, event] = co_await agent_.next_event(kToken);
      if (error == agent::AgentError::kTerminated) co_return true;  // told to stop
      if (error) co_return ok(error, "watch");
      std::optional<agent::RuleStatus> status;
      if (wanted.in_full && event.lifetime != Lifetime{0}) {
        auto [ended, rule] = co_await agent_.status(event.pid, kToken);
        if (!ended) status = std::move(rule);
      }
      printer_.print(event, status);
    }
    co_return true;
  }

 private:
  static std::string about(const char* doing, PolicyRuleId pid) {
    return std::string(doing) + " " + std::to_string(pid.value);
  }
  /// Returns those of `before` that are not in `after`, in order.
  static std::vector<PolicyRuleId> missing(std::vector<PolicyRuleId> before,
                                           std::vector<PolicyRuleId> after) {
    std::ranges::sort(before);
    std::ranges::sort(after);
    std::vector<PolicyRuleId> result;
    std::ranges::set_difference(before, after, std::back_inserter(result));
    return result;
  }
  awaitable<bool> remove(PolicyRuleId pid) {
    auto [error] = co_await agent_.remove(pid, kToken);
    if (!error) printer_.print_lifetime(pid, Lifetime{0});
    co_return ok(error, about("delete", pid));
  }
  /// Asks for the status of listed rules, many at a time; a rule that has ended since is skipped.
  awaitable<bool> collect(const std::vector<PolicyRuleId>& pids,
                          std::vector<agent::RuleStatus>& rules) {
    const auto ask = [this](PolicyRuleId pid) { return agent_.status(pid, boost::asio::deferred); };
    for (std::size_t from = 0; from < pids.size(); from += ctl::kStatusRequestsMax) {
      const auto some = std::span(pids).subspan(from).first(
          std::min(pids.size() - from, ctl::kStatusRequestsMax));
      std::vector<decltype(ask(PolicyRuleId{}))> requests;
      for (const auto pid : some) requests.push_back(ask(pid));
      auto [order, errors, statuses] =
          co_await boost::asio::experimental::make_parallel_group(std::move(requests))
              .async_wait(boost::asio::experimental::wait_for_all(), boost::asio::use_awaitable);
      for (std::size_t i = 0; i < some.size(); ++i) {
        if (agent::negative_reply(errors[i]) == NegativeReplyCode::kNoSuchRule) continue;
        if (!ok(errors[i], about("status", some[i]))) co_return false;
        rules.push_back(std::move(statuses[i]));
      }
    }
    co_return true;
  }
  /// Asks for the counts of rules, if wanted and possible.
  std::optional<agent::RuleTraffics> count(const std::vector<agent::RuleStatus>& rules) {
    if (!settings_.inspect) return std::nullopt;
    std::vector<PolicyRuleId> pids;
    for (const auto& rule : rules) pids.push_back(rule.pid);
    auto traffic = ask_what_is_counted(*settings_.inspect, pids);
    if (traffic) return std::move(*traffic);
    std::fprintf(stderr, "simcoctl: --inspect %s\n", traffic.error().c_str());
    return std::nullopt;
  }
  template <class Result>
  bool done(const error_code& error, const std::string& doing, const Result& result) {
    if (!error) printer_.print(result);
    return ok(error, doing);
  }
  bool ok(const error_code& error, const std::string& doing) {
    if (error) printer_.print_error(error, doing, ctl::hint(error, settings_));
    return !error;
  }

  agent::Agent& agent_;
  const ctl::Settings& settings_;
  const ctl::Printer& printer_;
};

/// The state of a command that a signal meets.
struct Signalled {
  bool interrupted = false;  ///< By a signal that no program got.
  /// A rule was asked for that has to be ended: the session's end does not end it.
  bool rule = false;
  pid_t program = 0;  ///< The program that runs, or 0.
};

/// Keeps the rule while the program runs. Returns the exit status.
awaitable<int> keep_while_running(agent::Agent& agent, const ctl::Settings& settings,
                                  const ctl::Printer& printer, Signalled& state) {
  const auto& request = std::get<PerRequest>(settings.command);
  state.rule = true;
  auto [error, pinhole] = co_await agent::Pinhole::open(agent, request, kToken);
  if (error) {
    printer.print_error(error, "enable", ctl::hint(error, settings));
    co_return 1;
  }
  if (state.interrupted) {
    co_await pinhole.close(kToken);
    co_return 1;
  }
  const auto started = ctl::start_program(settings.program);
  if (!started) {
    cli::complain(kProgram, started.error());
    co_await pinhole.close(kToken);
    co_return kNotFound;
  }
  state.program = *started;
  pinhole.lost([](const error_code& closed, RuleLoss) {
    if (!closed) cli::complain(kProgram, "the rule is lost: its packets are blocked");
  });
  const int status = co_await ctl::exit_status(*started);
  state.program = 0;  // its number may be another's now
  co_await pinhole.close(kToken);
  co_return status;
}

/// Returns the exit status.
awaitable<int> run(agent::Agent& agent, const ctl::Settings& settings, const ctl::Printer& printer,
                   Signalled& state) {
  auto [error, capabilities] = co_await agent.open(settings.target, kToken);
  if (error) {
    printer.print_error(error, ctl::connecting(settings),
                        ctl::hint_about_connecting(error, settings));
    co_return 1;
  }
  int status = 0;
  if (settings.program.empty()) {
    Runner runner(agent, settings, printer);
    const bool good = co_await std::visit([&](const auto& command) { return runner.run(command); },
                                          settings.command);
    status = good ? 0 : 1;
  } else {
    status = co_await keep_while_running(agent, settings, printer, state);
  }
  // The result is complete; a failure to close the session does not matter.
  co_await agent.close(kToken);
  co_return status;
}

/// As nohup has it.
bool ignored(int signal) {
  struct sigaction now{};
  return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

/// A program that runs gets SIGTERM and SIGHUP from here, and SIGINT from the terminal. Without
/// one, the session is closed, at the second signal if a rule has to be ended first.
void on_signals(boost::asio::signal_set& signals, boost::asio::io_context& io, agent::Agent& agent,
                Signalled& state) {
  signals.async_wait([&](const error_code& error, int signal) {
    if (error) return;
    const bool again = std::exchange(state.interrupted, state.program == 0);
    if (state.program != 0 && signal != SIGINT) ::kill(state.program, signal);
    if (state.program != 0 || (state.rule && !again)) return on_signals(signals, io, agent, state);
    agent.close([&](const error_code& not_open) {
      if (not_open) io.stop();
    });
  });
}

/// Otherwise a middlebox that waits for the end of the connection would see it break off. A signal
/// ends the program at once now.
void let_connection_end(boost::asio::io_context& io, boost::asio::signal_set& signals) {
  signals.cancel();
  signals.clear();
  io.restart();
  io.run_for(net::kCloseTimeout);
}

}  // namespace

int main(int argc, char** argv) {
  auto settings = ctl::parse_settings(argc, argv);
  if (!settings) return cli::leave(settings.error());
  if (settings->top) return ctl::run_top(*settings->top, settings->json);
  if (settings->for_me) {
    auto& request = std::get<PerRequest>(settings->command);
    if (const auto fault =
            ctl::set_sides(*settings->for_me, settings->target, settings->agent, request)) {
      cli::complain(kProgram, *fault);
      return 1;
    }
  }
  boost::asio::io_context io;
  agent::Agent agent(io.get_executor(), settings->agent);
  const ctl::Printer printer(settings->json);
  int status = 1;
  bool closed = false;
  Signalled state;
  boost::asio::co_spawn(io, run(agent, *settings, printer, state),
                        [&](std::exception_ptr, int result) {
                          status = result;
                          closed = true;
                          io.stop();
                        });
  boost::asio::signal_set signals(io, SIGINT, SIGTERM);
  if (!ignored(SIGHUP)) signals.add(SIGHUP);
  on_signals(signals, io, agent, state);
  io.run();
  if (closed) let_connection_end(io, signals);
  // A watch ends by an interrupt; any other command was cut short.
  if (state.interrupted && !std::holds_alternative<ctl::Watch>(settings->command)) return 1;
  return status;
}
