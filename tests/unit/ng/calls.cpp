#include "tests/unit/ng/calls.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "simco/wire/tuple_text.hpp"

namespace simco::test {
namespace {

using nlohmann::json;

PipelineFixture::Options core_options(Calls::Box box, Translator& translator, Instant now) {
  PipelineFixture::Options result;
  result.now = now;
  result.rules_max = 200'000;
  if (box == Calls::Box::kNat) {
    result.nat.mode = policy::Mode::kTraditionalNat;
    result.nat.outside = {{*parse_address(translator.there("198.51.100.1")), 1}};
    result.nat.first_port = 40000;
    result.nat.last_port = 40009;
  }
  return result;
}

/// With the headers of IPv4 and UDP.
constexpr std::uint64_t kPacketOctets = 128;

}  // namespace

std::string sdp(const std::string& address, const std::vector<std::string>& media) {
  const std::string family = address.contains(':') ? "IP6 " : "IP4 ";
  std::string text = "v=0\r\no=- 1 1 IN " + family + address + "\r\ns=-\r\nc=IN " + family +
                     address + "\r\nt=0 0\r\n";
  for (const auto& medium : media) {
    text += "m=";
    for (const char c : medium) text += c == '|' ? std::string("\r\n") : std::string(1, c);
    text += "\r\n";
  }
  return text;
}

std::string text(const json& reply, const char* key) { return reply.value(key, std::string()); }

ng::CallOptions Calls::options() {
  ng::CallOptions result;
  result.media.internal = {*parse_prefix("10.0.0.0/8"), *parse_prefix("2001:db8:1::/48")};
  return result;
}

Calls::Calls(Box box, ng::CallOptions options) : box_(box), options_(std::move(options)) {
  start_middlebox(Instant(std::chrono::hours(1)));
  controller_.emplace(static_cast<ng::CallHost&>(*this), options_);
  connect();
}

void Calls::pass_on(std::uint64_t request, const std::string& dictionary) {
  EXPECT_FALSE(dictionary.empty());
  passed_on.push_back(request);
}

json Calls::upstream_replies(const json& reply) {
  const auto id = passed_on.back();
  controller_->on_upstream_reply(id, reply, core_->now());
  settle();
  return late_reply(id);
}

void Calls::restart() {
  queue_.clear();
  asked_.clear();
  controller_.emplace(static_cast<ng::CallHost&>(*this), options_);
  for (const auto& [id, document] : stored_) {
    controller_->restore(ng::read_call(json::from_cbor(document), moment()), core_->now());
  }
  for (const auto& [pid, rule] : unended_) controller_->restore_unended(rule, core_->now());
  connect();
}

void Calls::on_changed(const ng::Call& call) {
  if (stores) stored_[call.id] = json::to_cbor(ng::write_call(call, moment()));
}

ng::Moment Calls::moment() const {
  const auto since = core_->now().time_since_epoch();
  return {core_->now(),
          std::chrono::sys_seconds(std::chrono::duration_cast<std::chrono::seconds>(since))};
}

void Calls::connect() {
  connected_ = true;
  controller_->on_session(core_->engine.capabilities(agent_->agent()), core_->now());
  settle();
}

void Calls::start_middlebox(Instant now) {
  core_.emplace(core_options(box_, translator_, now));
  agent_ = &core_->agent("proxy");
  events_ = 0;
}

void Calls::restart_middlebox() {
  lose_session();
  start_middlebox(core_->now());
}

void Calls::other_enables(const std::string& internal, const std::string& external) {
  const auto request = PerRequest::udp(internal, external, std::chrono::seconds(300));
  EXPECT_TRUE(std::holds_alternative<PerReply>(core_->ask(*agent_, request)));
}

void Calls::lose_session() {
  connected_ = false;
  for (const auto& [id, request] : std::exchange(queue_, {})) {
    controller_->on_result(id, {nullptr, true, "the session is lost"}, core_->now());
  }
  controller_->on_session_lost(core_->now());
}

void Calls::send(std::uint64_t transaction, const Body& request, std::optional<PolicyRuleId>) {
  ++sent;
  queue_.emplace_back(transaction, request);
}

void Calls::ask_counters(std::uint64_t question, const std::vector<PolicyRuleId>& pids) {
  ++questions;
  asked_.emplace_back(question, pids);
}

ng::Counted Calls::counted(const std::vector<PolicyRuleId>& asked) {
  if (!counters_fault.empty()) return std::unexpected(counters_fault);
  const auto age = [&](Instant at) {
    return std::chrono::duration_cast<agent::RuleTraffic::Age>(core_->now() - at);
  };
  const auto there = pids();
  agent::RuleTraffics result;
  for (const auto pid : asked) {
    if (std::ranges::find(there, pid) == there.end()) continue;
    auto& rule = result[pid];
    rule.complete = age(counts_since_);
    rule.run = run_;
    Instant last{};
    for (const auto& [port, traffic] : traffic_[pid]) {
      rule.ports[port] = {traffic.packets, traffic.packets * kPacketOctets};
      rule.count += rule.ports[port];
      last = std::max(last, traffic.last);
    }
    if (rule.count.packets != 0) rule.last_packet = {age(last), age(last)};
  }
  return result;
}

void Calls::packets(std::uint16_t internal_port, std::uint64_t count) {
  for (const auto pid : pids()) {
    const auto body = core_->ask(*agent_, PrsRequest{pid});
    const auto* rule = std::get_if<PesReply>(&body);
    if (rule == nullptr || internal_port < rule->internal.port ||
        internal_port - rule->internal.port >= rule->internal.port_range) {
      continue;
    }
    auto& traffic = traffic_[pid][internal_port];
    traffic.packets += count;
    traffic.last = core_->now();
    return;
  }
  ADD_FAILURE() << "no rule lets packets of port " << internal_port << " pass";
}

void Calls::reset_counters() {
  traffic_.clear();
  counts_since_ = core_->now();
  ++run_;
}

void Calls::reply(std::uint64_t request, const json& reply) {
  if (on_reply) on_reply();
  auto told = reply;
  if (told.contains("sdp")) told["sdp"] = translator_.back(told["sdp"]);
  EXPECT_TRUE(replies_.emplace(request, std::move(told)).second) << "a second reply to " << request;
}

void Calls::log(ng::LogLevel, const std::string& line) { lines.push_back(line); }

void Calls::settle() {
  for (;;) {
    if (!counters_late && !asked_.empty()) {
      const auto [question, pids] = std::move(asked_.front());
      asked_.pop_front();
      controller_->on_counted(question, counted(pids), core_->now());
      continue;
    }
    if (silent || !connected_ || queue_.empty()) break;
    const auto [id, request] = std::move(queue_.front());
    queue_.pop_front();
    const auto reply = core_->ask(*agent_, request);
    const auto* refused = std::get_if<NegativeReply>(&reply);
    const std::string why = refused == nullptr ? "" : std::string(to_string(refused->code));
    controller_->on_result(id, {&reply, false, why}, core_->now());
  }
  for (; connected_ && events_ < agent_->events.size(); ++events_) {
    const auto& event = agent_->events[events_];
    controller_->on_rule_event(event.pid, event.lifetime, core_->now());
  }
}

json Calls::ask(json request) {
  if (!request.contains("call-id")) request["call-id"] = call_id_;
  if (request.contains("sdp")) request["sdp"] = translator_.there(request["sdp"]);
  if (request.contains("received-from")) {
    for (auto& word : request["received-from"]) word = translator_.there(word);
  }
  auto read = ng::read_request(request);
  EXPECT_TRUE(read) << read.error();
  read->dictionary = request.dump(-1, ' ', true, json::error_handler_t::replace);
  controller_->on_request(++requests_, std::move(*read), moment());
  settle();
  return late_reply(requests_);
}

json Calls::late_reply(std::uint64_t id) const {
  const auto found = replies_.find(id);
  return found == replies_.end() ? json() : found->second;
}

json Calls::offer(const std::string& from, const std::string& text, json more) {
  more.update({{"command", "offer"}, {"from-tag", from}, {"sdp", text}});
  return ask(std::move(more));
}

json Calls::answer(const std::string& from, const std::string& to, const std::string& text,
                   json more) {
  more.update({{"command", "answer"}, {"from-tag", from}, {"to-tag", to}, {"sdp", text}});
  return ask(std::move(more));
}

json Calls::end(const std::string& from, json more) {
  more.update({{"command", "delete"}, {"from-tag", from}});
  return ask(std::move(more));
}

std::vector<PolicyRuleId> Calls::pids() {
  const auto body = core_->ask(*agent_, PrlRequest{});
  auto result = std::get<PrlReply>(body).pids;
  std::ranges::sort(result);
  return result;
}

std::string Calls::rules() {
  std::string result;
  for (const auto pid : pids()) {
    const auto body = core_->ask(*agent_, PrsRequest{pid});
    std::string line = std::to_string(pid.value);
    if (const auto* rule = std::get_if<PesReply>(&body)) {
      const char* arrow = rule->parameters.direction == Direction::kInbound    ? " <- "
                          : rule->parameters.direction == Direction::kOutbound ? " -> "
                                                                               : " <-> ";
      line += " " + to_text(rule->internal) + arrow + to_text(rule->external);
      if (to_text(rule->internal) != to_text(rule->outside)) line += " = " + to_text(rule->outside);
    } else {
      line += " reserved = " + to_text(std::get<PrsReply>(body).outside);
    }
    result += (result.empty() ? "" : "; ") + line;
  }
  return translator_.back(result);
}

bool Calls::is_open(const std::string& rule) {
  const auto space = rule.find(' ');
  const auto fits = [&](const PesReply& status) {
    return to_text(status.internal) == rule.substr(0, space) &&
           to_text(status.external) == rule.substr(space + 1);
  };
  for (std::uint32_t pid = 1; pid <= core_->engine.rule_count() * 2; ++pid) {
    const auto body = core_->ask(*agent_, PrsRequest{{pid}});
    const auto* status = std::get_if<PesReply>(&body);
    if (status != nullptr && fits(*status)) return true;
  }
  return false;
}

std::string Calls::open() {
  std::string result;
  for (const auto pid : pids()) {
    const auto body = core_->ask(*agent_, PrsRequest{pid});
    const auto* rule = std::get_if<PesReply>(&body);
    result +=
        (result.empty() ? "" : "; ") +
        (rule == nullptr ? "reserved" : to_text(rule->internal) + " " + to_text(rule->external));
  }
  return translator_.back(result);
}

void Calls::pass(std::chrono::milliseconds time) {
  const auto end = core_->now() + time;
  while (core_->now() < end) {
    const auto next = std::min(controller_->next_deadline().value_or(end), end);
    core_->advance(std::max(next - core_->now(), Instant::duration(1)));
    controller_->on_deadline(core_->now());
    settle();
  }
}

void Calls::end_rule(PolicyRuleId pid) {
  auto& other = core_->agent("administrator");
  const auto body = core_->ask(*agent_, PrsRequest{pid});
  const auto& rule = std::get<PesReply>(body);
  core_->ask(other, PdrRequest{rule.internal, rule.external, {1}});
  settle();
}

}  // namespace simco::test
