// Any octets as datagrams of the ng protocol, each of which ends with an octet 0. In front of a
// middlebox, firewall or NAT, or of a media proxy. A datagram that begins with one of the octets of
// `Event` is something that happens instead. Each request has one reply, a stored call is read
// again as it was, and when all calls are over, no rule is left.
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/ng/call/call_codec.hpp"
#include "agent/ng/call/controller.hpp"
#include "agent/ng/protocol/codec.hpp"
#include "simco/wire/assert.hpp"

namespace {

using namespace simco;
using nlohmann::json;

/// Of a call, at most.
constexpr std::chrono::minutes kDuration{2};

/// The events between requests.
enum class Event : char {
  kRefuses = 1,    ///< the middlebox refuses the next request
  kHesitates = 2,  ///< it replies to nothing until kRepliesAgain
  kRepliesAgain = 3,
  kRuleEnds = 4,     ///< it ends its oldest rule
  kSessionLost = 5,  ///< the session is lost, and there is another one
  kTimePasses = 6,   ///< so much that rules must be extended
  kRestart = 7,      ///< simco-ng is killed, and started with its stored calls
};

class World final : public ng::CallHost {
 public:
  /// `kind`: 0 a firewall, 1 a NAT, 2 a media proxy behind a firewall. `counts`: the middlebox
  /// counts packets.
  World(unsigned kind, bool counts) : nat_(kind == 1), upstream_(kind == 2), counts_(counts) {
    start();
  }

  void take(std::string_view octets) {
    if (!octets.empty() && octets[0] <= static_cast<char>(Event::kRestart) && octets[0] > 0) {
      happens(static_cast<Event>(octets[0]));
    } else {
      ask(octets);
    }
    settle();
    check();
  }

  /// Lets all calls end, and checks the rest.
  void end() {
    hesitates_ = false;
    settle();
    pass(kDuration + std::chrono::minutes(1));
    SIMCO_ASSERT(controller_->call_count() == 0 && controller_->rule_count() == 0);
    SIMCO_ASSERT(stored_.empty() && unended_.empty());
    SIMCO_ASSERT(outstanding_.empty());
    SIMCO_ASSERT(lost_ || rules_.empty());
  }

 private:
  ng::CallOptions options() const {
    ng::CallOptions result;
    result.media.internal = {*parse_prefix("10.0.0.0/8")};
    result.upstream = upstream_;
    result.counts = counts_;
    if (counts_) result.media_timeout = kDuration / 2;
    result.duration_max = kDuration;
    return result;
  }
  ng::Moment moment() const {
    return {now_, std::chrono::sys_seconds(
                      std::chrono::duration_cast<std::chrono::seconds>(now_.time_since_epoch()))};
  }

  void start() {
    controller_.emplace(static_cast<ng::CallHost&>(*this), options());
    for (const auto& [id, document] : stored_)
      controller_->restore(ng::read_call(document, moment()), now_);
    for (const auto& [pid, rule] : unended_) controller_->restore_unended(rule, now_);
    connect();
  }
  void connect() {
    Capabilities capabilities;
    capabilities.nat = nat_;
    controller_->on_session(capabilities, now_);
  }

  void ask(std::string_view octets) {
    const auto datagram = ng::read_datagram(octets);
    if (!datagram || !datagram->dictionary) return;
    const auto request = ng::read_request(*datagram->dictionary);
    if (!request) return;
    outstanding_.insert(++requests_);
    controller_->on_request(requests_, *request, moment());
  }

  void happens(Event event) {
    switch (event) {
      case Event::kRefuses: refuses_ = true; break;
      case Event::kHesitates: hesitates_ = true; break;
      case Event::kRepliesAgain: hesitates_ = false; break;
      case Event::kRuleEnds:
        if (rules_.empty()) break;
        controller_->on_rule_event(rules_.extract(rules_.begin()).key(), {0}, now_);
        break;
      case Event::kSessionLost:
        fail_all();
        controller_->on_session_lost(now_);
        connect();
        break;
      case Event::kTimePasses: pass(std::chrono::seconds(21)); break;
      case Event::kRestart:
        lost_ |= !queue_.empty() || !questions_.empty();
        queue_.clear();
        questions_.clear();
        passed_on_.clear();
        outstanding_.clear();
        start();
        break;
    }
  }

  void pass(std::chrono::seconds time) {
    const auto end = now_ + time;
    while (now_ < end) {
      now_ = std::min(std::max(controller_->next_deadline().value_or(end), now_), end);
      controller_->on_deadline(now_);
      SIMCO_ASSERT(controller_->next_deadline().value_or(Instant::max()) > now_);
      settle();
    }
  }

  void check() const {
    SIMCO_ASSERT(controller_->rule_count() <= controller_->call_count() * ng::kRulesOfCallMax * 2);
    SIMCO_ASSERT(controller_->call_count() >= stored_.size());
  }

  // ng::CallHost
  void send(std::uint64_t transaction, const Body& request, std::optional<PolicyRuleId>) override {
    queue_.emplace_back(transaction, request);
  }
  void reply(std::uint64_t id, const json& reply) override {
    SIMCO_ASSERT(outstanding_.erase(id) == 1);
    SIMCO_ASSERT(ng::decode_bencode(ng::encode_bencode(reply)));
    SIMCO_ASSERT(!ng::write_datagram("c", ng::Form::kJson, reply).empty());
  }
  void log(ng::LogLevel, const std::string& line) override { SIMCO_ASSERT(!line.contains('\n')); }
  void pass_on(std::uint64_t id, const std::string&) override { passed_on_.push_back(id); }
  void ask_counters(std::uint64_t id, const std::vector<PolicyRuleId>& pids) override {
    SIMCO_ASSERT(counts_ && !pids.empty());
    questions_.emplace_back(id, pids);
  }
  void on_media_timeout() override { SIMCO_ASSERT(counts_); }
  void on_changed(const ng::Call& call) override {
    auto document = ng::write_call(call, moment());
    SIMCO_ASSERT(ng::write_call(ng::read_call(document, moment()), moment()) == document);
    stored_.insert_or_assign(call.id, std::move(document));
  }
  void on_ended(const std::string& call_id) override { stored_.erase(call_id); }
  void on_unended(const KeptRule& rule) override {
    SIMCO_ASSERT(unended_.emplace(rule.pid, rule).second);
  }
  void on_rule_gone(PolicyRuleId pid) override { SIMCO_ASSERT(unended_.erase(pid) == 1); }

  void settle() {
    while (!hesitates_ && (!queue_.empty() || !passed_on_.empty() || !questions_.empty())) {
      if (!questions_.empty()) {
        const auto [id, pids] = std::move(questions_.front());
        questions_.pop_front();
        controller_->on_counted(id, count(pids), now_);
        continue;
      }
      if (!passed_on_.empty()) {
        const auto id = passed_on_.front();
        passed_on_.pop_front();
        controller_->on_upstream_reply(id, proxys_reply(), now_);
        continue;
      }
      const auto [id, request] = queue_.front();
      queue_.pop_front();
      const auto reply = reply_to(request);
      const bool refused = std::holds_alternative<NegativeReply>(reply);
      controller_->on_result(id, {&reply, false, refused ? "refused" : ""}, now_);
    }
  }
  void fail_all() {
    for (const auto& [id, request] : std::exchange(queue_, {})) {
      controller_->on_result(id, {nullptr, true, "lost"}, now_);
    }
  }

  /// A packet for each rule since the last question; now and then counters cannot be read.
  ng::Counted count(const std::vector<PolicyRuleId>& pids) {
    if (++packets_ % 5 == 0) return std::unexpected(std::string("not now"));
    agent::RuleTraffics result;
    for (const auto pid : pids) {
      if (!rules_.contains(pid)) continue;
      result[pid].count = {packets_, 128 * packets_};
      result[pid].run = static_cast<std::uint32_t>(packets_ / 7);
      result[pid].last_packet = {std::chrono::seconds(5), std::chrono::seconds(1)};
    }
    return result;
  }

  static json proxys_reply() {
    return {{"result", "ok"}, {"sdp", "v=0\r\nc=IN IP4 10.0.0.200\r\nm=audio 30000 RTP/AVP 0\r\n"}};
  }

  Body reply_to(const Body& request) {
    using enum NegativeReplyCode;
    if (std::holds_alternative<PrlRequest>(request)) return list();
    if (const auto* status = std::get_if<PrsRequest>(&request)) {
      const auto found = rules_.find(status->pid);
      return found == rules_.end() ? NegativeReply{kNoSuchRule, {}} : found->second;
    }
    const auto* change = std::get_if<PlcRequest>(&request);
    // A rule can always be ended.
    const bool ends = change != nullptr && change->lifetime == Lifetime{0};
    if (std::exchange(refuses_, false) && !ends) return NegativeReply{kLackOfPorts, {}};
    if (change != nullptr) {
      if (!rules_.contains(change->pid)) return NegativeReply{kNoSuchRule, {}};
      if (!ends) return PlcReply{change->lifetime};
      rules_.erase(change->pid);
      return PrdReply{};
    }
    if (const auto* after = std::get_if<PeaRequest>(&request)) {
      if (!rules_.contains(after->pid)) return NegativeReply{kNoSuchRule, {}};
      return enable(after->pid, *after);
    }
    if (const auto* enabled = std::get_if<PerRequest>(&request)) {
      return enable({++pids_}, *enabled);
    }
    PrsReply status{};
    status.pid = {++pids_};
    status.lifetime = {60};
    status.outside = outside();
    rules_[status.pid] = status;
    return PrrReply{status.pid, {}, status.lifetime, status.outside, {}};
  }
  Body list() const {
    PrlReply result{};
    for (const auto& [pid, status] : rules_) result.pids.push_back(pid);
    return result;
  }
  static AddressTuple outside() {
    auto result = ng::tuple_of({*parse_address("198.51.100.1"), 40000, 2});
    result.location = Location::kOutside;
    return result;
  }
  template <class Request>
  Body enable(PolicyRuleId pid, const Request& request) {
    PesReply status{};
    status.pid = pid;
    status.lifetime = {60};
    status.parameters = request.parameters;
    status.internal = request.internal;
    status.external = request.external;
    status.outside = outside();
    rules_[pid] = status;
    return PerReply{pid, {}, status.lifetime, status.outside, {}};
  }

  bool nat_;
  bool upstream_;
  bool counts_;
  Instant now_{std::chrono::hours(1)};
  std::optional<ng::CallController> controller_;
  std::map<std::string, json> stored_;
  std::map<PolicyRuleId, KeptRule> unended_;
  std::deque<std::pair<std::uint64_t, Body>> queue_;
  std::deque<std::uint64_t> passed_on_;
  std::deque<std::pair<std::uint64_t, std::vector<PolicyRuleId>>> questions_;
  std::uint64_t packets_ = 0;
  std::set<std::uint64_t> outstanding_;  ///< requests without a reply
  std::map<PolicyRuleId, Body> rules_;   ///< of the middlebox, with their status
  std::uint64_t requests_ = 0;
  std::uint32_t pids_ = 0;
  bool refuses_ = false;
  bool hesitates_ = false;
  bool lost_ = false;  ///< the end of a rule, say, with a restart: its lifetime ends it
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  World world(static_cast<unsigned>(size % 3), size / 3 % 2 != 0);
  while (!rest.empty()) {
    const auto end = rest.find('\0');
    world.take(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  world.end();
  return 0;
}
