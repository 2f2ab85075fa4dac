// Datagrams in, replies out; the store; the media proxy; and a session with the middlebox that is
// opened again whenever it is lost.
#include "agent/ng/serve/server.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/system/system_error.hpp>
#include <random>
#include <stdexcept>

#include "agent/ng/serve/limits.hpp"
#include "simco/wire/number.hpp"

namespace simco::ng {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using nlohmann::json;

Moment moment() {
  const auto wall = std::chrono::system_clock::now();
  return {std::chrono::steady_clock::now(), std::chrono::floor<std::chrono::seconds>(wall)};
}

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

std::shared_ptr<net::DatagramPort> open_port(asio::io_context& io, net::DatagramBatch& batch,
                                             const net::HostPort& listen,
                                             net::DatagramPort::User& user) {
  const auto at = endpoint_of(listen);
  try {
    return std::make_shared<net::DatagramPort>(
        io.get_executor(), batch,
        net::DatagramPort::Options::over_udp(at.address(), at.port(), true), user);
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
      port_(open_port(io, batch_, settings.listen, *this)),
      timer_(io),
      pause_(io),
      driver_(std::make_shared<agent::Driver>(io.get_executor(), settings.agent)),
      controller_(*this, settings.calls) {
  driver_->set_reconnect({kReconnectDelayFirst, kReconnectPauseMax,
                          [this](const error_code& reason) { on_session_change(reason); }});
  if (settings.upstream) {
    const Udp::endpoint target = endpoint_of(*settings.upstream);
    upstream_.emplace(io, target.protocol());
    upstream_->connect(target);
    upstream_->non_blocking(true);
    upstream_buffer_.resize(kDatagramMax);
    cookies_ = fresh_cookies();
  }
  if (settings.inspect) {
    counters_.emplace(io, *settings.inspect);
  }
  if (settings.state.empty()) return;
  state_.emplace(settings.state);
  restore();
}

void Server::restore() {
  std::size_t lost = 0;
  const auto now = moment();
  auto calls = state_->calls(now, lost);
  const auto unended = state_->unended(lost);
  spdlog::info("restored {} calls and {} rules that must end from the store; {} could not be read",
               calls.size(), unended.size(), lost);
  for (auto& call : calls) controller_.restore(std::move(call), now.instant);
  for (const auto& rule : unended) controller_.restore_unended(rule, now.instant);
  settle();
}

std::string Server::endpoint() const {
  return net::endpoint_text(port_->local().to_string(), port_->local_port());
}

void Server::start() {
  port_->start();
  if (upstream_) receive_upstream();
  open_session();
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
  controller_.on_session_lost(moment().instant);  // the ends that are under way are stored
  port_->stop();
  if (upstream_) upstream_->close();
  timer_.cancel();
  pause_.cancel();
  driver_->close([done = std::move(done)](const error_code&, const agent::Outcome&) { done(); });
}

// --- The ng protocol -----------------------------------------------------------------------------

void Server::on_packet(net::DatagramPort&, const net::Path& path,
                       std::span<const std::byte> packet) {
  if (!is_allowed(path.remote) || backlog_octets_ + packet.size() > kBacklogMax) return;
  backlog_.emplace_back(path,
                        std::string(reinterpret_cast<const char*>(packet.data()), packet.size()));
  backlog_octets_ += packet.size();
}

void Server::take_soon() {
  if (backlog_.empty() || std::exchange(taking_, true)) return;
  asio::post(io_, [this] {
    if (!stopping_) take_some();
  });
}

void Server::take_some() {
  for (std::size_t i = 0; i < kDatagramsPerTurn && !backlog_.empty(); ++i) {
    const auto [from, octets] = std::move(backlog_.front());
    backlog_.pop_front();
    backlog_octets_ -= octets.size();
    on_datagram(from, octets);
  }
  port_->flush();
  taking_ = false;
  take_soon();
}

bool Server::is_allowed(const asio::ip::address& address) const {
  if (address.is_loopback()) return true;
  const auto parsed = parse_address(net::address_text(address));
  return parsed && std::ranges::any_of(allowed_, [&](const IpPrefix& prefix) {
           return contains(prefix, host_prefix(*parsed));
         });
}

void Server::on_datagram(const net::Path& from, std::string_view octets) {
  auto datagram = read_datagram(octets);
  if (!datagram) return;
  const auto now = moment();
  const auto source = net::endpoint_text(net::address_text(from.remote), from.remote_port);
  const auto known = replies_.look_up(source, datagram->cookie, now.instant);
  if (known.state != ReplyCache::State::kNew) {
    if (metrics_ != nullptr) metrics_->repeated();
    if (known.state == ReplyCache::State::kReplied) send_to(from, known.reply);
    return;
  }
  const auto id = ++last_request_;
  auto& pending = pending_[id];
  pending = {from, source, std::string(datagram->cookie), datagram->form, {}, now.instant};
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

void Server::send_to(const net::Path& to, std::string_view octets) {
  port_->send(to, std::as_bytes(std::span(octets)));
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

void Server::on_unended(const KeptRule& rule) {
  store([&](StateStore& state) { state.put_unended(rule); });
}

void Server::on_rule_gone(PolicyRuleId pid) {
  store([&](StateStore& state) { state.erase_unended(pid); });
}

// --- The middlebox -------------------------------------------------------------------------------

void Server::send(std::uint64_t transaction, const Body& request,
                  std::optional<PolicyRuleId> rule) {
  driver_->transact(
      request, rule, [this, transaction](const error_code& error, const agent::Outcome& outcome) {
        if (outcome.body != nullptr) {
          return finish(transaction, {outcome.body, false, error ? error.message() : ""});
        }
        // The controller may be the one who has just called.
        asio::post(io_, [this, transaction, error] {
          const bool lost = error == agent::AgentError::kConnectionLost ||
                            error == agent::AgentError::kMiddleboxTerminated;
          finish(transaction, {nullptr, lost, error.message()});
        });
      });
}

void Server::finish(std::uint64_t transaction, const SimcoResult& result) {
  controller_.on_result(transaction, result, moment().instant);
  settle();
}

/// The driver opens every session but the first.
void Server::open_session() {
  driver_->open(middlebox_, [this](const error_code& error, const agent::Outcome& outcome) {
    if (stopping_) return;
    if (!error) {
      on_session(*outcome.capabilities);
      return next_event();
    }
    if (!std::exchange(failing_, true)) {  // once, not at every attempt
      spdlog::error("no session with the middlebox at {}:{}: {}; trying again", middlebox_.host,
                    middlebox_.port, error.message());
    }
    std::uniform_real_distribution<double> fraction(0, 1);
    pause_.expires_after(delay_.next(fraction(random_)));
    pause_.async_wait([this](const error_code& cancelled) {
      if (!cancelled && !stopping_) open_session();
    });
  });
}

void Server::on_session(const Capabilities& capabilities) {
  session_ = true;
  spdlog::info("session with the middlebox at {}:{}: {}", middlebox_.host, middlebox_.port,
               capabilities.nat ? "NAT" : "firewall");
  controller_.on_session(capabilities, moment().instant);
  settle();
}

/// `reason`: why there is no session; none if there is one again.
void Server::on_session_change(const error_code& reason) {
  if (stopping_) return;
  if (!reason) return on_session(driver_->capabilities());
  if (!std::exchange(session_, false)) return;
  spdlog::warn("the session with the middlebox is lost: {}", reason.message());
  if (metrics_ != nullptr) metrics_->session_lost();
  controller_.on_session_lost(moment().instant);
  settle();
}

void Server::next_event() {
  driver_->next_event([this](const error_code& error, const agent::Outcome& outcome) {
    if (error) return;  // at the end
    asio::post(io_, [this, event = *outcome.event] {
      if (stopping_) return;
      controller_.on_rule_event(event.pid, event.lifetime, moment().instant);
      settle();
      next_event();
    });
  });
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
  if (!taking_) port_->flush();
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
