// Any octets as datagrams of the ng protocol, each of which ends with an octet 0. In front of a
// middlebox, firewall or NAT, or of a media proxy. A datagram that begins with one of the octets of
// `Event` is something that happens instead. Each request has one reply, what is stored of a call
// is read again as it was, and when all calls are over, no rule is left.
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/ng/call_codec.hpp"
#include "agent/ng/codec.hpp"
#include "agent/ng/controller.hpp"
#include "simco/wire/assert.hpp"

namespace {

using namespace simco;
using nlohmann::json;

/// Of a call, at most.
constexpr std::chrono::minutes kDuration{2};

/// What happens between requests.
enum class Event : char {
  kRefuses = 1,    ///< the middlebox refuses the next request
  kHesitates = 2,  ///< it replies to nothing until kRepliesAgain
  kRepliesAgain = 3,
  kRuleEnds = 4,     ///< it ends its oldest rule
  kSessionLost = 5,  ///< the session is lost, and there is another one
  kTimePasses = 6,   ///< so much that rules must be extended
  kRestart = 7,      ///< simco-ng is killed, and started with what it has stored
};

class World final : public ng::CallController::Host {
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

  /// Lets all calls end, and looks at what is left.
  void end() {
    hesitates_ = false;
    settle();
    pass(kDuration + std::chrono::minutes(1));
    SIMCO_ASSERT(controller_->call_count() == 0 && controller_->rule_count() == 0);
    SIMCO_ASSERT(stored_.empty());
    SIMCO_ASSERT(outstanding_.empty());
    SIMCO_ASSERT(lost_ || rules_.empty());
  }

 private:
  ng::CallController::Options options() const {
    ng::CallController::Options result;
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
    controller_.emplace(static_cast<ng::CallController::Host&>(*this), options());
    for (const auto& [id, document] : stored_)
      controller_->restore(ng::read_call(document, moment()));
    connect();
  }
  void connect() {
    Capabilities capabilities;
    capabilities.nat = nat_;
    controller_->on_session(capabilities);
    controller_->on_rules_listed(rules_, now_);
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
        controller_->on_rule_ended(rules_.extract(rules_.begin()).value());
        break;
      case Event::kSessionLost:
        controller_->on_session_lost();
        fail_all();
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

  // ng::CallController::Host
  void send(std::uint64_t transaction, const ng::SimcoRequest& request) override {
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
      controller_->on_result(id, result_of(request), now_);
    }
  }
  void fail_all() {
    while (!queue_.empty()) {
      const auto id = queue_.front().first;
      queue_.pop_front();
      controller_->on_result(id, std::unexpected(ng::Refusal{std::nullopt, "lost"}), now_);
    }
  }

  /// A packet for each rule since the last question; now and then counters cannot be read.
  ng::CallController::Counted count(const std::vector<PolicyRuleId>& pids) {
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

  ng::SimcoResult result_of(const ng::SimcoRequest& request) {
    using enum NegativeReplyCode;
    const auto* change = std::get_if<PlcRequest>(&request);
    // A rule can always be ended.
    const bool ends = change != nullptr && change->lifetime == Lifetime{0};
    if (std::exchange(refuses_, false) && !ends)
      return std::unexpected(ng::Refusal{kLackOfPorts, "refused"});
    if (change != nullptr && !rules_.contains(change->pid))
      return std::unexpected(ng::Refusal{kNoSuchRule, "no such rule"});
    if (ends) rules_.erase(change->pid);
    if (change != nullptr) return ng::Granted{{}, change->lifetime, {}};
    ng::Granted granted{{++pids_}, {60}, {}};
    granted.outside = ng::tuple_of({*parse_address("198.51.100.1"), 40000, 2});
    if (const auto* after = std::get_if<PeaRequest>(&request)) {
      if (!rules_.contains(after->pid))
        return std::unexpected(ng::Refusal{kNoSuchRule, "no such rule"});
      granted.pid = after->pid;
    }
    rules_.insert(granted.pid);
    return granted;
  }

  bool nat_;
  bool upstream_;
  bool counts_;
  Instant now_{std::chrono::hours(1)};
  std::optional<ng::CallController> controller_;
  std::map<std::string, json> stored_;
  std::deque<std::pair<std::uint64_t, ng::SimcoRequest>> queue_;
  std::deque<std::uint64_t> passed_on_;
  std::deque<std::pair<std::uint64_t, std::vector<PolicyRuleId>>> questions_;
  std::uint64_t packets_ = 0;
  std::set<std::uint64_t> outstanding_;  ///< requests without a reply
  std::set<PolicyRuleId> rules_;         ///< of the middlebox
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
