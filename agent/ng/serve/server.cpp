// Requests of proxies in, replies out; the store; and the events of all others.
#include "agent/ng/serve/server.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "agent/ng/protocol/codec.hpp"
#include "agent/ng/serve/limits.hpp"
#include "simco/log/log.hpp"

namespace simco::ng {
namespace {

namespace asio = boost::asio;
using nlohmann::json;

Moment moment() {
  const auto wall = std::chrono::system_clock::now();
  return {std::chrono::steady_clock::now(), std::chrono::floor<std::chrono::seconds>(wall)};
}

}  // namespace

Server::Server(asio::io_context& io, const Settings& settings, Metrics& metrics)
    : metrics_(metrics),
      port_(io, settings.listen,
            [this](const net::Path& from, std::string_view octets) { on_datagram(from, octets); }),
      timer_(io),
      middlebox_(io, settings.middlebox, settings.agent, *this),
      controller_(*this, settings.calls) {
  port_.allow(settings.allowed);
  if (settings.upstream) {
    upstream_.emplace(io, *settings.upstream, [this](std::uint64_t request, const json& reply) {
      controller_.on_upstream_reply(request, reply, moment().instant);
      settle();
    });
  }
  if (settings.inspect) counters_.emplace(io, *settings.inspect);
  if (settings.state.empty()) return;
  state_.emplace(settings.state);
  restore();
}

void Server::restore() {
  std::size_t lost = 0;
  const auto now = moment();
  auto calls = state_->calls(now, lost);
  const auto unended = state_->unended(lost);
  log::info("restored {} calls and {} rules that must end from the store; {} could not be read",
            calls.size(), unended.size(), lost);
  for (auto& call : calls) controller_.restore(std::move(call), now.instant);
  for (const auto& rule : unended) controller_.restore_unended(rule, now.instant);
  settle();
}

void Server::start() {
  port_.start();
  if (upstream_) upstream_->start();
  middlebox_.start();
}

void Server::apply(const Settings& settings) {
  port_.allow(settings.allowed);
  auto calls = settings.calls;
  // As they were at the start.
  calls.upstream = upstream_.has_value();
  calls.counts = counters_.has_value();
  if (!calls.counts) calls.media_timeout = {};
  controller_.set(std::move(calls));
}

void Server::stop(std::function<void()> done) {
  stopping_ = true;
  controller_.on_session_lost(moment().instant);  // the ends that are under way are stored
  port_.stop();
  if (upstream_) upstream_->stop();
  timer_.cancel();
  middlebox_.stop(std::move(done));
}

// --- Proxies -------------------------------------------------------------------------------------

void Server::on_datagram(const net::Path& from, std::string_view octets) {
  auto datagram = read_datagram(octets);
  if (!datagram) return;
  const auto now = moment();
  const auto source = net::endpoint_text(net::address_text(from.remote), from.remote_port);
  const auto known = replies_.look_up(source, datagram->cookie, now.instant);
  if (known.state != ReplyCache::State::kNew) {
    ++metrics_.repetitions;
    if (known.state == ReplyCache::State::kReplied) port_.send(from, known.reply);
    return;
  }
  const auto id = ++last_request_;
  auto& unreplied = unreplied_[id];
  unreplied = {from, source, std::string(datagram->cookie), datagram->form, {}, now.instant};
  if (!datagram->dictionary) return reply(id, error_reply(datagram->dictionary.error()));
  auto request = read_request(*datagram->dictionary);
  if (!request) return reply(id, error_reply(request.error()));
  unreplied.command = request->command;
  if (upstream_) request->dictionary = octets.substr(octets.find(' '));
  controller_.on_request(id, std::move(*request), now);
  settle();
}

void Server::reply(std::uint64_t request, const json& dictionary) {
  const auto node = unreplied_.extract(request);
  if (node.empty()) return;
  const auto& unreplied = node.mapped();
  const auto now = moment().instant;
  auto datagram = write_datagram(unreplied.cookie, unreplied.form, dictionary);
  if (datagram.size() > kReplyMax) {
    datagram = write_datagram(unreplied.cookie, unreplied.form,
                              error_reply("The reply is longer than a datagram"));
  }
  port_.send(unreplied.from, datagram);
  const bool ok = dictionary.value("result", json()) != "error";
  metrics_.replied(unreplied.command, ok, now - unreplied.since);
  replies_.keep(unreplied.source, unreplied.cookie, std::move(datagram), now);
}

void Server::pass_on(std::uint64_t request, const std::string& dictionary) {
  if (upstream_) upstream_->pass_on(request, dictionary);
}

void Server::log(LogLevel level, const std::string& line) {
  level == LogLevel::kInfo ? log::info(line) : log::warn(line);
}

// --- The store -----------------------------------------------------------------------------------

template <class Write>
void Server::store(Write write) {
  if (!state_) return;
  try {
    write(*state_);
    if (std::exchange(state_fails_, false)) log::info("calls can be stored again");
  } catch (const sqlite::Error& error) {
    // Calls go on; changes that are not stored are lost with the next restart.
    if (!std::exchange(state_fails_, true)) log::error("cannot store calls: {}", error.what());
  }
}

void Server::on_changed(const Call& call) {
  store([&](StateStore& state) { state.put(call, moment()); });
}

void Server::on_ended(const std::string& call_id) {
  store([&](StateStore& state) { state.erase(call_id); });
}

void Server::on_unended(const KeptRule& rule) {
  store([&](StateStore& state) { state.put_unended(rule); });
}

void Server::on_rule_gone(PolicyRuleId pid) {
  store([&](StateStore& state) { state.erase_unended(pid); });
}

// --- The middlebox -------------------------------------------------------------------------------

void Server::send(std::uint64_t transaction, const Body& request,
                  std::optional<PolicyRuleId> rule) {
  middlebox_.send(transaction, request, rule);
}

void Server::on_session(const Capabilities& capabilities) {
  controller_.on_session(capabilities, moment().instant);
  settle();
}

void Server::on_session_lost() {
  ++metrics_.sessions_lost;
  controller_.on_session_lost(moment().instant);
  settle();
}

void Server::on_result(std::uint64_t transaction, const SimcoResult& result) {
  controller_.on_result(transaction, result, moment().instant);
  settle();
}

void Server::on_rule_event(PolicyRuleId pid, Lifetime lifetime) {
  controller_.on_rule_event(pid, lifetime, moment().instant);
  settle();
}

void Server::ask_counters(std::uint64_t question, const std::vector<PolicyRuleId>& pids) {
  counters_.value().ask(pids, [this, question](const Counted& counted) {
    if (stopping_) return;
    controller_.on_counted(question, counted, moment().instant);
    settle();
  });
}

// --- Time ----------------------------------------------------------------------------------------

void Server::settle() {
  metrics_.calls = static_cast<double>(controller_.call_count());
  metrics_.rules = static_cast<double>(controller_.rule_count());
  metrics_.session = middlebox_.is_open() ? 1 : 0;
  port_.flush();
  const auto next = controller_.next_deadline();
  if (stopping_ || next == armed_for_) return;
  armed_for_ = next;
  if (!next) return void(timer_.cancel());
  timer_.expires_at(*next);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error || stopping_) return;
    armed_for_.reset();
    controller_.on_deadline(moment().instant);
    settle();
  });
}

}  // namespace simco::ng
