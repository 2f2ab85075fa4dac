// Datagrams in, replies out; the store; the media proxy; and a session with the middlebox that is
// opened again whenever it is lost.
#include "agent/ng/server.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <random>
#include <set>
#include <stdexcept>

#include "agent/ng/limits.hpp"
#include "simco/session/backoff.hpp"
#include "simco/session/limits.hpp"
#include "simco/wire/number.hpp"

namespace simco::ng {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using nlohmann::json;
constexpr auto kToken = asio::as_tuple(asio::use_awaitable);

Moment moment() {
  const auto wall = std::chrono::system_clock::now();
  return {std::chrono::steady_clock::now(), std::chrono::floor<std::chrono::seconds>(wall)};
}

Refusal refusal_of(const error_code& error) {
  return {agent::negative_reply(error), error.message()};
}

Granted granted_of(const agent::ReservedRule& rule) {
  return {rule.pid, rule.lifetime, rule.outside};
}
Granted granted_of(const agent::EnabledRule& rule) {
  return {rule.pid, rule.lifetime, rule.outside};
}
Granted granted_of(Lifetime lifetime) { return {{}, lifetime, {}}; }

/// What the cookies of this process begin with: the media proxy has replies to an earlier one's.
std::string fresh_cookies() {
  std::random_device random;
  std::string result = "ng_";
  for (int i = 0; i < 2; ++i) result += std::to_string(random()) + '_';
  return result;
}

asio::ip::udp::endpoint endpoint_of(const net::HostPort& listen) {
  return {asio::ip::make_address(listen.host), listen.port};
}

asio::ip::udp::socket open_socket(asio::io_context& io, const net::HostPort& listen) {
  try {
    return {io, endpoint_of(listen)};
  } catch (const boost::system::system_error& failure) {
    throw std::runtime_error("cannot listen on udp " +
                             net::endpoint_text(listen.host, listen.port) + ": " +
                             failure.code().message());
  }
}

}  // namespace

Server::Server(asio::io_context& io, const Settings& settings, Metrics* metrics)
    : io_(io),
      middlebox_(settings.middlebox),
      allowed_(settings.allowed),
      metrics_(metrics),
      socket_(open_socket(io, settings.listen)),
      timer_(io),
      pause_(io),
      agent_(io.get_executor(), settings.agent),
      controller_(*this, settings.calls),
      buffer_(kDatagramMax) {
  socket_.non_blocking(true);
  if (settings.upstream) {
    const Udp::endpoint target = endpoint_of(*settings.upstream);
    upstream_.emplace(io, target.protocol());
    upstream_->connect(target);
    upstream_->non_blocking(true);
    upstream_buffer_.resize(kDatagramMax);
    cookies_ = fresh_cookies();
  }
  if (settings.inspect) {
    counters_.emplace(io, asio::ip::tcp::endpoint(asio::ip::make_address(settings.inspect->host),
                                                  settings.inspect->port));
  }
  if (settings.state.empty()) return;
  state_.emplace(settings.state);
  restore();
}

void Server::restore() {
  std::size_t lost = 0;
  auto calls = state_->calls(moment(), lost);
  spdlog::info("restored {} calls from the store; {} could not be read", calls.size(), lost);
  for (auto& call : calls) controller_.restore(std::move(call));
  settle();
}

std::string Server::endpoint() const {
  const auto local = socket_.local_endpoint();
  return net::endpoint_text(local.address().to_string(), local.port());
}

void Server::start() {
  receive();
  if (upstream_) receive_upstream();
  asio::co_spawn(io_, keep_session(), [](const std::exception_ptr& fault) {
    if (fault) std::rethrow_exception(fault);  // better restarted than left without a session
  });
}

void Server::apply(const Settings& settings) {
  allowed_ = settings.allowed;
  auto calls = settings.calls;
  // As they were at the start.
  calls.upstream = upstream_.has_value();
  calls.counts = counters_.has_value();
  if (!calls.counts) calls.media_timeout = {};
  controller_.set(std::move(calls));
}

void Server::stop(std::function<void()> done) {
  stopping_ = true;
  socket_.close();
  if (upstream_) upstream_->close();
  timer_.cancel();
  pause_.cancel();
  agent_.close([done = std::move(done)](const error_code&) { done(); });
}

// --- The ng protocol -----------------------------------------------------------------------------

void Server::receive() {
  socket_.async_receive_from(asio::buffer(buffer_), sender_,
                             [this](const error_code& error, std::size_t size) {
                               if (stopping_) return;
                               // Errors are ICMP messages about earlier replies.
                               if (!error) on_datagram({buffer_.data(), size});
                               receive();
                             });
}

bool Server::is_allowed(const asio::ip::address& address) const {
  if (address.is_loopback()) return true;
  const auto parsed = parse_address(net::address_text(address));
  return parsed && std::ranges::any_of(allowed_, [&](const IpPrefix& prefix) {
           return contains(prefix, host_prefix(*parsed));
         });
}

void Server::on_datagram(std::string_view octets) {
  if (!is_allowed(sender_.address())) return;
  auto datagram = read_datagram(octets);
  if (!datagram) return;
  const auto now = moment();
  const auto source = net::endpoint_text(net::address_text(sender_.address()), sender_.port());
  const auto known = replies_.look_up(source, datagram->cookie, now.instant);
  if (known.state != ReplyCache::State::kNew) {
    if (metrics_ != nullptr) metrics_->repeated();
    if (known.state == ReplyCache::State::kReplied) send_to(sender_, known.reply);
    return;
  }
  const auto id = ++last_request_;
  auto& pending = pending_[id];
  pending = {sender_, source, std::string(datagram->cookie), datagram->form, {}, now.instant};
  if (!datagram->dictionary) return reply(id, error_reply(datagram->dictionary.error()));
  auto request = read_request(*datagram->dictionary);
  if (!request) return reply(id, error_reply(request.error()));
  pending.command = request->command;
  if (upstream_) request->dictionary = octets.substr(octets.find(' '));
  controller_.on_request(id, std::move(*request), now);
  settle();
}

void Server::reply(std::uint64_t request, const json& dictionary) {
  const auto node = pending_.extract(request);
  if (node.empty()) return;
  const auto& pending = node.mapped();
  const auto now = moment().instant;
  auto datagram = write_datagram(pending.cookie, pending.form, dictionary);
  if (datagram.size() > kReplyMax) {
    datagram = write_datagram(pending.cookie, pending.form,
                              error_reply("The reply is longer than a datagram"));
  }
  send_to(pending.from, datagram);
  if (metrics_ != nullptr) {
    const bool ok = dictionary.value("result", json()) != "error";
    metrics_->replied(pending.command, ok, now - pending.since);
  }
  replies_.keep(pending.source, pending.cookie, std::move(datagram), now);
}

// --- The media proxy -----------------------------------------------------------------------------

/// The cookie is one of ours and our number of the request. A request that is lost on the way has
/// no reply, as if the proxy had lost it.
void Server::pass_on(std::uint64_t request, const std::string& dictionary) {
  if (!upstream_) return;
  error_code ignored;
  upstream_->send(asio::buffer(cookies_ + std::to_string(request) + dictionary), 0, ignored);
}

void Server::receive_upstream() {
  upstream_->async_receive(asio::buffer(upstream_buffer_),
                           [this](const error_code& error, std::size_t size) {
                             if (stopping_) return;
                             if (!error) on_upstream({upstream_buffer_.data(), size});
                             receive_upstream();
                           });
}

void Server::on_upstream(std::string_view octets) {
  const auto datagram = read_datagram(octets);
  if (!datagram || !datagram->dictionary || !datagram->cookie.starts_with(cookies_)) return;
  const auto request = parse_number<std::uint64_t>(datagram->cookie.substr(cookies_.size()));
  if (!request || !pending_.contains(*request)) return;
  controller_.on_upstream_reply(*request, *datagram->dictionary, moment().instant);
  settle();
}

void Server::send_to(const Udp::endpoint& to, std::string_view octets) {
  // What the kernel does not take is lost, as on the way; the sender repeats its request.
  error_code ignored;
  socket_.send_to(asio::buffer(octets), to, 0, ignored);
}

void Server::log(LogLevel level, const std::string& line) {
  spdlog::log(level == LogLevel::kInfo ? spdlog::level::info : spdlog::level::warn, "{}", line);
}

// --- The store -----------------------------------------------------------------------------------

template <class Write>
void Server::store(Write write) {
  if (!state_) return;
  try {
    write(*state_);
    if (std::exchange(state_fails_, false)) spdlog::info("calls can be stored again");
  } catch (const sqlite::Error& error) {
    // Calls go on; what is not stored is lost with the next restart.
    if (!std::exchange(state_fails_, true)) spdlog::error("cannot store calls: {}", error.what());
  }
}

void Server::on_changed(const Call& call) {
  store([&](StateStore& state) { state.put(call, moment()); });
}

void Server::on_ended(const std::string& call_id) {
  store([&](StateStore& state) { state.erase(call_id); });
}

// --- The middlebox -------------------------------------------------------------------------------

/// Returns a handler that hands the result of a transaction to the controller.
template <class Result>
auto Server::deliver(std::uint64_t transaction) {
  return [this, transaction](const error_code& error, const Result& result) {
    controller_.on_result(
        transaction,
        error ? SimcoResult(std::unexpected(refusal_of(error))) : SimcoResult(granted_of(result)),
        moment().instant);
    settle();
  };
}

void Server::send(std::uint64_t transaction, const SimcoRequest& request) {
  if (const auto* reserve = std::get_if<PrrRequest>(&request)) {
    agent_.reserve(*reserve, deliver<agent::ReservedRule>(transaction));
  } else if (const auto* enable = std::get_if<PerRequest>(&request)) {
    agent_.enable(*enable, deliver<agent::EnabledRule>(transaction));
  } else if (const auto* after = std::get_if<PeaRequest>(&request)) {
    agent_.enable_reserved(*after, deliver<agent::EnabledRule>(transaction));
  } else if (const auto& change = std::get<PlcRequest>(request); change.lifetime != Lifetime{0}) {
    agent_.change_lifetime(change.pid, change.lifetime, deliver<Lifetime>(transaction));
  } else {
    agent_.remove(change.pid, [ended = deliver<Lifetime>(transaction)](
                                  const error_code& error) mutable { ended(error, Lifetime{0}); });
  }
}

asio::awaitable<void> Server::keep_session() {
  Backoff delay{kReconnectDelayFirst, kReconnectPauseMax};
  std::minstd_rand random{std::random_device{}()};
  std::uniform_real_distribution<double> fraction(0, 1);
  bool failing = false;
  while (!stopping_) {
    const auto error = co_await begin_session();
    if (stopping_) co_return;
    if (!error) {
      failing = false;
      delay.reset();
      co_await run_session();
      if (stopping_) co_return;
    } else if (!std::exchange(failing, true)) {  // once, not at every attempt
      spdlog::error("no session with the middlebox at {}:{}: {}; trying again", middlebox_.host,
                    middlebox_.port, error.message());
    }
    pause_.expires_after(delay.next(fraction(random)));
    co_await pause_.async_wait(kToken);
  }
}

/// Opens a session and has the controller compare its rules. Without the list of rules there is no
/// session: the next attempt opens another.
asio::awaitable<error_code> Server::begin_session() {
  auto [open_error, capabilities] = co_await agent_.open(middlebox_, kToken);
  if (open_error || stopping_) co_return open_error;
  auto [list_error, pids] = co_await agent_.list(kToken);
  if (stopping_) co_return list_error;
  if (list_error) {
    co_await agent_.close(kToken);
    co_return list_error;
  }
  session_ = true;
  controller_.on_session(capabilities);
  controller_.on_rules_listed({pids.begin(), pids.end()}, moment().instant);
  spdlog::info("session with the middlebox at {}:{}: {}", middlebox_.host, middlebox_.port,
               capabilities.nat ? "NAT" : "firewall");
  settle();
  co_return error_code{};
}

/// Takes events until the session ends.
asio::awaitable<void> Server::run_session() {
  for (;;) {
    auto [error, event] = co_await agent_.next_event(kToken);
    if (stopping_) co_return;
    if (error) {
      spdlog::warn("the session with the middlebox is lost: {}", error.message());
      break;
    }
    if (event.lifetime == Lifetime{0}) controller_.on_rule_ended(event.pid);
    settle();
  }
  session_ = false;
  if (metrics_ != nullptr) metrics_->session_lost();
  controller_.on_session_lost();
  settle();
}

// --- Counters ------------------------------------------------------------------------------------

void Server::ask_counters(std::uint64_t question, const std::vector<PolicyRuleId>& pids) {
  counters_.value().ask(pids, [this, question](const CallController::Counted& counted) {
    if (stopping_) return;
    controller_.on_counted(question, counted, moment().instant);
    settle();
  });
}

void Server::on_media_timeout() {
  if (metrics_ != nullptr) metrics_->media_timeout();
}

// --- Time ----------------------------------------------------------------------------------------

void Server::settle() {
  if (metrics_ != nullptr) {
    metrics_->set(controller_.call_count(), controller_.rule_count(), session_);
  }
  const auto next = controller_.next_deadline();
  if (stopping_ || next == armed_for_) return;
  armed_for_ = next;
  if (!next) return void(timer_.cancel());
  timer_.expires_at(*next);
  timer_.async_wait([this](const error_code& error) {
    if (error || stopping_) return;
    armed_for_.reset();
    controller_.on_deadline(moment().instant);
    settle();
  });
}

}  // namespace simco::ng
