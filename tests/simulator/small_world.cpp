#include "tests/simulator/small_world.hpp"

#include <algorithm>

#include "middlebox/commit/recovery.hpp"
#include "tests/simulator/fault.hpp"
#include "tests/simulator/requests.hpp"

namespace simco::simulator {

using test::Model;
using test::PipelineFixture;
using enum NegativeReplyCode;

namespace {

constexpr const char* kNames[] = {
    "a: PER",   "boss: PER",          "a: PRR",     "a: PEA 1",       "a: PEA 2",
    "a: PLC 1", "boss: PLC 1 0",      "a: PLC 2 0", "boss: PDR",      "boss: PRS 1",
    "a: PRL",   "the backend begins", "it accepts", "it refuses one", "a rule expires"};
static_assert(std::size(kNames) == static_cast<std::size_t>(Step::kCount));

PipelineFixture::Options options(middlebox::Journal* journal = nullptr) {
  PipelineFixture::Options result;
  result.journal = journal;
  result.rules_max = Model::kRulesMax;
  result.directory = Model::directory();
  return result;
}

PerRequest pinhole_to(int host, std::uint32_t lifetime_s) {
  auto request = test::pinhole(5004, lifetime_s);
  request.external = test::ipv4(Location::kExternal, {192, 0, 2, host}, 6000);
  return request;
}

PrrRequest reservation() {
  PrrRequest request;
  request.parameters.protocol = kProtocolUdp;
  request.parameters.port_range = 2;
  request.lifetime = {50};
  return request;
}

bool makes_a_rule(const Body& request) {
  return std::holds_alternative<PerRequest>(request) ||
         std::holds_alternative<PrrRequest>(request) || std::holds_alternative<PdrRequest>(request);
}

test::Given given_by(std::uint32_t pid, Instant expires_at, const Body* reply) {
  test::Given result{pid, 0, expires_at, {}, {}};
  const auto take = [&](const auto& from) {
    result.group = from.group.value;
    result.outside = from.outside;
    result.inside = from.inside;
  };
  if (reply == nullptr) return result;
  if (const auto* per = std::get_if<PerReply>(reply)) take(*per);
  if (const auto* prr = std::get_if<PrrReply>(reply)) take(*prr);
  return result;
}

}  // namespace

const char* name_of(Step step) { return kNames[static_cast<std::size_t>(step)]; }

SmallWorld::SmallWorld()
    : box_(options(kept_.journal())),
      a_(box_.agent("a")),
      boss_(box_.agent("boss")),
      auditor_(box_.agent("boss")) {
  box_.backend.automatic = false;
  kept_.set_time([this] { return box_.now(); });
}

// --- Steps ---------------------------------------------------------------------------------------

bool SmallWorld::asks_about(Step step, std::size_t rule) const {
  const bool first = step == Step::kUseFirst || step == Step::kShorten || step == Step::kEndFirst ||
                     step == Step::kAskFirst;
  const bool second = step == Step::kUseSecond || step == Step::kEndSecond;
  return rule == 0 ? first : second;
}

bool SmallWorld::is_possible(Step step) const {
  const auto making = static_cast<std::size_t>(std::ranges::count_if(
      pending_, [](const Pending& one) { return makes_a_rule(one.request); }));
  switch (step) {
    case Step::kBegin:
      return !box_.backend.busy() && std::ranges::any_of(pending_, [](const Pending& one) {
        return !std::holds_alternative<PrsRequest>(one.request);
      });
    case Step::kAccept:
    case Step::kRefuse: return box_.backend.busy();
    case Step::kExpire: return !model_.rules.empty();
    default: break;
  }
  if (pending_.size() >= kUnderWayMax) return false;
  for (const std::size_t rule : {0U, 1U}) {
    if (asks_about(step, rule)) return made_.size() > rule;
  }
  return step == Step::kList || made_.size() + making < kRulesMade;
}

Body SmallWorld::request_of(Step step) const {
  const auto pid = [&](std::size_t rule) { return PolicyRuleId{made_.at(rule)}; };
  const auto use = [&](std::size_t rule) {
    const auto per = pinhole_to(7, 40);
    return PeaRequest{per.parameters, per.internal, per.external, per.lifetime, pid(rule)};
  };
  switch (step) {
    case Step::kEnable: return pinhole_to(7, 60);
    case Step::kEnableToo: return pinhole_to(8, 30);
    case Step::kReserve: return reservation();
    case Step::kUseFirst: return use(0);
    case Step::kUseSecond: return use(1);
    case Step::kShorten: return PlcRequest{pid(0), {20}};
    case Step::kEndFirst: return PlcRequest{pid(0), {0}};
    case Step::kEndSecond: return PlcRequest{pid(1), {0}};
    case Step::kDisable:
      return PdrRequest{test::protocols_only(Location::kInternal, kProtocolUdp),
                        test::ipv4(Location::kExternal, {192, 0, 2, 7}, 0, 1, kProtocolUdp),
                        {45}};
    case Step::kAskFirst: return PrsRequest{pid(0)};
    default: return PrlRequest{};
  }
}

void SmallWorld::ask(Step step) {
  const bool of_boss = step == Step::kEnableToo || step == Step::kEndFirst ||
                       step == Step::kDisable || step == Step::kAskFirst;
  auto* agent = of_boss ? &boss_ : &a_;
  const auto request = request_of(step);
  const auto tid = box_.submit(*agent, request);
  pending_.push_back({of_boss ? "boss" : "a", agent, tid, request, box_.now()});
}

void SmallWorld::take(Step step) {
  moments_ = {model_};
  switch (step) {
    case Step::kBegin: box_.commit.dispatch(); break;
    case Step::kAccept:
      carried_out_ = box_.backend.batches.back();
      done_.push_back(carried_out_);
      box_.backend.finish();
      break;
    case Step::kRefuse:
      carried_out_ = box_.backend.batches.back();
      // The end of a rule is tried again; what else it refuses is over.
      if (carried_out_.front().kind == rule::RuleChange::Kind::kRemove) {
        stuck_.insert(carried_out_.front().rule().pid.value);
      }
      done_.emplace_back(carried_out_.begin() + 1, carried_out_.end());
      for (auto& one : pending_) one.refused_by_backend = is_refused(one);
      box_.backend.finish({rule::ChangeResult::kRefused});
      break;
    case Step::kExpire: {
      auto first = Instant::max();
      for (const auto& [pid, rule] : model_.rules) first = std::min(first, rule.expires_at);
      box_.advance(std::max(first, box_.now()) - box_.now());
      break;
    }
    default: ask(step);
  }
  observe();
  if (!box_.backend.busy() && box_.commit.idle()) check_quiet();
}

/// True if the backend has just refused what was asked.
bool SmallWorld::is_refused(const Pending& one) const {
  const auto& change = carried_out_.front();
  return makes_a_rule(one.request) ? change.rule().creating_tid.value == one.tid
                                   : pid_asked_about(one.request) == change.rule().pid.value;
}

void SmallWorld::come_to_rest() {
  constexpr int kBatchesMax = 30;
  for (int i = 0; i < kBatchesMax && !(pending_.empty() && box_.commit.idle()); ++i) {
    if (!box_.backend.busy()) take(Step::kBegin);
    if (box_.backend.busy()) {
      take(Step::kAccept);
    } else if (!pending_.empty()) {
      box_.advance(std::chrono::seconds(1));  // what was refused is tried again
      moments_ = {model_};
      observe();
    }
  }
  demand(pending_.empty() && box_.commit.idle(),
         "a request that nobody answers, or a change without end");
}

std::map<std::uint32_t, rule::RuleKind> SmallWorld::die() {
  const auto contents = kept_.contents();
  PipelineFixture next(options());
  const auto recovery =
      middlebox::recover(contents, "the small world", next.engine, next.backend, kept_, nullptr);
  demand(recovery.losses.empty(), "a rule that cannot be recovered");
  std::map<std::uint32_t, rule::RuleKind> result;
  for (const auto& entry : contents.entries) {
    if (const auto found = next.engine.find(entry.pid)) result[entry.pid.value] = found->kind;
  }
  return result;
}

// Of changes that were under way each is made or not.
void SmallWorld::judge_death() {
  std::set<std::uint32_t> open;
  if (box_.backend.busy()) {
    for (const auto& change : box_.backend.batches.back()) open.insert(change.rule().pid.value);
  }
  const auto found = die();
  for (const auto& [pid, kind] : found) {
    const auto before = model_.rules.find(pid);
    if (open.contains(pid)) continue;
    demand(before != model_.rules.end(), "a rule that was over is back after a kill");
    demand(before->second.kind == kind, "another rule after a kill");
  }
  for (const auto& [pid, rule] : model_.rules) {
    demand(found.contains(pid) || open.contains(pid) || is_due(model_, pid),
           "a rule is lost with a kill");
  }
}

// --- Judging -------------------------------------------------------------------------------------

const Body* SmallWorld::reply_to(const Pending& pending) const {
  const auto found = pending.agent->replies.find(pending.tid);
  return found == pending.agent->replies.end() ? nullptr : &found->second;
}

/// Settles the changes that the auditor has heard of, in their order, and judges the replies.
void SmallWorld::observe() {
  while (heard_ < auditor_.events.size()) {
    settle(auditor_.events[heard_++]);
    moments_.push_back(model_);
  }
  for (const auto& one : pending_) {
    if (const auto* reply = reply_to(one)) judge_reply(one, *reply);
  }
  std::erase_if(pending_, [&](const Pending& one) { return reply_to(one) != nullptr; });
}

void SmallWorld::settle(const policy::RuleEvent& event) {
  if (event.lifetime == Lifetime{0}) return judge_end(event);
  if (model_.rules.contains(event.pid.value)) return judge_change(event);
  judge_new(event);
}

void SmallWorld::judge_new(const policy::RuleEvent& event) {
  const auto found = std::ranges::find_if(
      pending_, [&](const Pending& one) { return one.tid == event.creating_tid.value; });
  demand(found != pending_.end(), "a rule that nobody asked for");
  const auto given = judge_grant(*found, event);
  demand(event.lifetime == granted_to(found->who, found->request), "a wrong lifetime");
  const auto fault = model_.fault_in(found->who, found->request, given);
  demand(!fault, fault.value_or(""));
  std::vector<test::Happened> happened;
  model_.carry_out(found->who, found->request, given, happened);
  made_.push_back(event.pid.value);
  granted_.insert({found->tid, event.lifetime.seconds});
}

/// The request was granted at the moment from which its lifetime counts, which the backend knows.
test::Given SmallWorld::judge_grant(const Pending& pending, const policy::RuleEvent& event) const {
  const auto lifetime = std::chrono::seconds(event.lifetime.seconds);
  const auto expires_at = end_of(event.pid);
  const auto decided_at = expires_at - lifetime;
  demand(decided_at >= pending.asked_at && decided_at <= box_.now(), "a wrong end");
  demand(model_.decide(pending.who, pending.request, decided_at).granted(),
         pending.who + "'s " + text(pending.request) + " was granted");
  return given_by(event.pid.value, expires_at, reply_to(pending));
}

/// Returns the end of a rule's lifetime in the batch that the backend has carried out.
Instant SmallWorld::end_of(PolicyRuleId pid) const {
  for (const auto& change : carried_out_) {
    if (change.after.pid == pid) return change.after.expires_at;
  }
  throw Fault("a rule that the backend does not know");
}

SmallWorld::Pending* SmallWorld::asker_of(std::uint32_t pid, bool ends) {
  const auto found = std::ranges::find_if(pending_, [&](const Pending& one) {
    const auto* reply = reply_to(one);
    return reply != nullptr && !test::refusal(*reply) && pid_asked_about(one.request) == pid &&
           !std::holds_alternative<PrsRequest>(one.request) &&
           (granted_to(one.who, one.request) == Lifetime{0}) == ends;
  });
  return found == pending_.end() ? nullptr : &*found;
}

void SmallWorld::judge_change(const policy::RuleEvent& event) {
  const auto* asker = asker_of(event.pid.value, false);
  demand(asker != nullptr, "a change that nobody asked for");
  const auto given = judge_grant(*asker, event);
  std::vector<test::Happened> happened;
  model_.carry_out(asker->who, asker->request, given, happened);
  granted_.insert({asker->tid, event.lifetime.seconds});
}

void SmallWorld::judge_end(const policy::RuleEvent& event) {
  const auto found = model_.rules.find(event.pid.value);
  demand(found != model_.rules.end(), "the end of a rule that is not there");
  const auto& rule = found->second;
  ended_.insert(event.pid.value);
  if (event.ended_by.value != 0) {
    demand(std::ranges::find(made_, event.ended_by.value) != made_.end(),
           "an unknown disable rule ends a rule");
    demand(rule.kind == rule::RuleKind::kEnable, "a disable rule ends what is no enable rule");
    demand(test::meets(rule.external,
                       test::ipv4(Location::kExternal, {192, 0, 2, 7}, 0, 1, kProtocolUdp)),
           "a disable rule ends a rule that it does not hit");
  } else if (rule.expires_at > box_.now() && !stuck_.contains(event.pid.value)) {
    demand(asker_of(event.pid.value, true) != nullptr, "the end of a rule that nobody asked for");
  }
  model_.rules.erase(found);
}

void SmallWorld::judge_reply(const Pending& pending, const Body& reply) {
  if (test::refusal(reply)) {
    return demand(may_refuse(pending, reply),
                  pending.who + "'s " + text(pending.request) + " got " + text(reply));
  }
  const auto pid = pid_asked_about(pending.request);
  if (std::holds_alternative<PrsRequest>(pending.request)) {
    return demand(std::ranges::any_of(moments_,
                                      [&](const Model& model) {
                                        return model.rules.contains(pid) &&
                                               model.status_of(pid, box_.now()) == reply;
                                      }),
                  "a wrong status");
  }
  if (const auto* list = std::get_if<PrlReply>(&reply)) {
    std::set<std::uint32_t> listed;
    for (const auto one : list->pids) listed.insert(one.value);
    return demand(std::ranges::any_of(moments_,
                                      [&](const Model& model) {
                                        const auto visible = model.visible_to(pending.who);
                                        return std::ranges::includes(visible, listed) &&
                                               std::ranges::all_of(visible, [&](auto one) {
                                                 return listed.contains(one) || is_due(model, one);
                                               });
                                      }),
                  "a wrong list");
  }
  judge_positive(pending, reply);
  if (const auto* pdr = std::get_if<PdrReply>(&reply)) {
    demand(std::ranges::find(made_, pdr->pid.value) != made_.end(), "a PDR reply without a rule");
    return demand(
        std::ranges::none_of(model_.rules, [&](const auto& entry) { return is_hit(entry.first); }),
        "a PDR reply while a rule that it hits is there");
  }
}

/// A positive reply follows its change, and says what the change was.
void SmallWorld::judge_positive(const Pending& pending, const Body& reply) const {
  const auto asked = pid_asked_about(pending.request);
  if (granted_to(pending.who, pending.request) == Lifetime{0}) {
    return demand(std::holds_alternative<PrdReply>(reply) && ended_.contains(asked),
                  "a " + text(reply) + " without an end");
  }
  const auto found = granted_.find(pending.tid);
  demand(found != granted_.end(), "a " + text(reply) + " without a change");
  auto pid = asked;
  if (const auto* per = std::get_if<PerReply>(&reply)) pid = per->pid.value;
  if (const auto* prr = std::get_if<PrrReply>(&reply)) pid = prr->pid.value;
  if (const auto* pdr = std::get_if<PdrReply>(&reply)) pid = pdr->pid.value;
  if (!model_.rules.contains(pid)) return;  // it has ended since
  demand(reply == model_.reply_to(pending.request, pid, Lifetime{found->second}),
         "a wrong " + text(reply));
}

/// True if a disable rule hits it, and the backend has not refused its end.
bool SmallWorld::is_hit(std::uint32_t pid) const {
  const auto& rule = model_.rules.at(pid);
  return rule.kind == rule::RuleKind::kEnable && !stuck_.contains(pid) &&
         model_.is_disabled(rule.internal, rule.external);
}

/// True if a rule has ended, though the backend still has it: it is over, or a disable rule hits
/// it.
bool SmallWorld::is_due(const Model& model, std::uint32_t pid) const {
  const auto found = model.rules.find(pid);
  if (found == model.rules.end()) return false;
  const auto& rule = found->second;
  return rule.expires_at <= box_.now() || stuck_.contains(pid) ||
         (rule.kind == rule::RuleKind::kEnable && model.is_disabled(rule.internal, rule.external));
}

/// True if an outcome of the changes under way is a reason for the refusal.
bool SmallWorld::may_refuse(const Pending& pending, const Body& reply) const {
  const auto code = *test::refusal(reply);
  const bool change = !std::holds_alternative<PrsRequest>(pending.request);
  if (code == kConfigurationFailed && change && pending.refused_by_backend) return true;
  std::vector<const Pending*> others;
  for (const auto& one : pending_) {
    if (one.tid != pending.tid) others.push_back(&one);
  }
  for (const auto& moment : moments_) {
    if (code == kNoSuchRule && is_due(moment, pid_asked_about(pending.request))) return true;
    for (unsigned chosen = 0; chosen < 1U << others.size(); ++chosen) {
      Model model = moment;
      std::vector<test::Happened> happened;
      for (std::size_t i = 0; i < others.size(); ++i) {
        const auto& one = *others[i];
        if ((chosen >> i & 1) == 0 || !model.decide(one.who, one.request, box_.now()).granted())
          continue;
        const auto pid = pid_asked_about(one.request);
        const auto lifetime = granted_to(one.who, one.request);
        auto given = given_by(pid != 0 ? pid : 1'000'000'000 + one.tid,
                              box_.now() + std::chrono::seconds(lifetime.seconds), nullptr);
        if (pid != 0 && model.rules.contains(pid)) given.group = model.rules.at(pid).group;
        if (std::holds_alternative<PrsRequest>(one.request) ||
            std::holds_alternative<PrlRequest>(one.request))
          continue;
        model.carry_out(one.who, one.request, given, happened);
        model.end_disabled_rules(happened);
      }
      if (model.decide(pending.who, pending.request, box_.now()).agrees_with(reply)) return true;
    }
  }
  return false;
}

/// With nothing under way, all is answered, and middlebox and backend have the model's rules.
void SmallWorld::check_quiet() {
  demand(pending_.empty(), "a request that nobody answers");
  check_backend();
  demand(box_.engine.rule_count() == model_.rules.size(), "another number of rules");
  demand(std::ranges::none_of(model_.rules, [&](const auto& entry) { return is_hit(entry.first); }),
         "a rule that a disable rule hits is still there");
}

void SmallWorld::check_backend() const {
  std::map<std::uint32_t, rule::RuleRecord> there;
  for (const auto& batch : done_) {
    for (const auto& change : batch) {
      if (change.kind == rule::RuleChange::Kind::kRemove)
        there.erase(change.before.pid.value);
      else
        there[change.after.pid.value] = change.after;
    }
  }
  demand(there.size() == model_.rules.size(), "another number of rules in the backend");
  for (const auto& [pid, rule] : model_.rules) {
    const auto found = there.find(pid);
    demand(found != there.end() && found->second.kind == rule.kind, "another rule in the backend");
    demand(found->second.expires_at == rule.expires_at, "another lifetime in the backend");
    const bool same =
        found->second.internal == rule.internal && found->second.external == rule.external;
    demand(same || rule.kind == rule::RuleKind::kReserve, "other tuples in the backend");
  }
}

// --- State ---------------------------------------------------------------------------------------

std::string SmallWorld::number_of(std::uint32_t pid) const {
  const auto found = std::ranges::find(made_, pid);
  return found == made_.end() ? (pid == 0 ? "-" : "new")
                              : std::to_string(found - made_.begin() + 1);
}

std::string SmallWorld::state() const {
  std::string result = std::to_string(made_.size());
  for (const auto& [pid, rule] : model_.rules) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(rule.expires_at - box_.now());
    result += "|" + number_of(pid) + rule.owner + std::to_string(static_cast<int>(rule.kind)) +
              "," + std::to_string(left.count()) + "," +
              std::to_string(std::to_integer<int>(rule.external.address[3]));
  }
  for (const auto& one : pending_) {
    result += "/" + one.who + std::to_string((box_.now() - one.asked_at).count()) +
              std::to_string(one.request.index()) + number_of(pid_asked_about(one.request)) + "," +
              std::to_string(granted_to(one.who, one.request).seconds);
    if (const auto* per = std::get_if<PerRequest>(&one.request)) {
      result += std::to_string(std::to_integer<int>(per->external.address[3]));
    }
    if (one.refused_by_backend) result += "!";
  }
  for (const auto pid : stuck_) result += "~" + number_of(pid);
  if (const auto next = box_.pipeline.next_expiry()) {
    result += "@" + std::to_string((*next - box_.now()).count());
  }
  result += box_.commit.idle() ? "i" : "w";
  if (box_.backend.busy()) {
    for (const auto& change : box_.backend.batches.back()) {
      result +=
          "*" + number_of(change.rule().pid.value) + std::to_string(static_cast<int>(change.kind));
    }
  }
  return result;
}

}  // namespace simco::simulator
