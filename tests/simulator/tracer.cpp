#include "tests/simulator/tracer.hpp"

#include <algorithm>

#include "tests/simulator/fault.hpp"

namespace simco::simulator {

using enum NegativeReplyCode;

namespace {

constexpr AskedWords kAsked[] = {
    {Step::kEnable, "a", "per", 0},      {Step::kEnableToo, "boss", "per", 0},
    {Step::kReserve, "a", "prr", 0},     {Step::kUseFirst, "a", "pea", 1},
    {Step::kUseSecond, "a", "pea", 2},   {Step::kShorten, "a", "plc", 1},
    {Step::kEndFirst, "boss", "end", 1}, {Step::kEndSecond, "a", "end", 2},
    {Step::kDisable, "boss", "pdr", 0},  {Step::kAskFirst, "boss", "prs", 1}};

std::string kind_word(rule::RuleKind kind) {
  constexpr const char* kWords[] = {"reserved", "enabled", "disabled"};
  return kWords[static_cast<std::size_t>(kind)];
}

std::string outcome_word(const Body& reply) {
  if (const auto code = test::refusal(reply)) {
    if (*code == kNoSuchRule) return "no_such_rule";
    if (*code == kRuleAccessDenied) return "denied";
    if (*code == kInconsistentRequest) return "inconsistent";
    if (*code == kConflict) return "conflict";
    return *code == kConfigurationFailed ? "failed" : "other";
  }
  if (std::holds_alternative<PrsReply>(reply)) return "reserved";
  if (std::holds_alternative<PesReply>(reply)) return "enabled";
  return std::holds_alternative<PdsReply>(reply) ? "disabled" : "granted";
}

}  // namespace

const AskedWords* words_of(Step step) {
  const auto* found = std::ranges::find(kAsked, step, &AskedWords::step);
  return found == std::end(kAsked) ? nullptr : found;
}

Step step_of(const std::string& agent, const std::string& request, std::uint32_t rule) {
  const auto* found = std::ranges::find_if(kAsked, [&](const AskedWords& asked) {
    return agent == asked.agent && request == asked.request && rule == asked.rule;
  });
  return found == std::end(kAsked) ? Step::kCount : found->step;
}

Tracer::Tracer() : box_(world_.box()), said_(box_.now()) {
  box_.on_reply = [this](const auto&, TransactionId tid, const Body& reply) {
    on_reply(tid.value, reply);
  };
  box_.on_event = [this](const policy::RuleEvent& event) { on_event(event); };
}

void Tracer::say(const std::string& step, const std::string& words) {
  say_time();
  lines_.push_back(step + " " + words);
}

void Tracer::say_time() {
  using std::chrono::seconds;
  const auto passed = box_.now() - said_;
  if (passed == Instant::duration::zero()) return;
  demand(passed % seconds(1) == Instant::duration::zero(), "time that is no whole second");
  said_ = box_.now();
  lines_.push_back("pass - - " +
                   std::to_string(std::chrono::duration_cast<seconds>(passed).count()) + " -");
}

void Tracer::say_rest() {
  say_time();
  const bool answered = std::ranges::all_of(slots_, [](const Slot& slot) { return slot.tid == 0; });
  const auto next = box_.pipeline.next_expiry();
  const bool due = next && *next <= box_.now();
  if (answered && !due && box_.commit.idle() && !box_.backend.busy()) say("rest", "- - - -");
}

void Tracer::take(Step step) {
  const auto before = lines_.size();
  const auto failures = box_.expiry_failures.size();
  if (const auto* asked = words_of(step)) on_asked(*asked);
  world_.take(step);
  // The backend refuses the first change of a batch, so all that follows comes after it.
  if (box_.expiry_failures.size() != failures) {
    const auto pid = box_.expiry_failures.back().value;
    lines_.insert(lines_.begin() + static_cast<std::ptrdiff_t>(before),
                  "stuck - - - " + std::to_string(numbers_.at(pid)));
  }
  say_rest();
}

void Tracer::come_to_rest() {
  world_.come_to_rest();
  say_rest();
}

void Tracer::die() {
  say("kill", "- - - -");
  const auto found = world_.die();
  for (const auto& [pid, kind] : found) numbers_.try_emplace(pid, numbers_.size() + 1);
  for (const auto& [pid, number] : numbers_) {
    const auto rule = found.find(pid);
    say("found", "- - " + (rule == found.end() ? "over" : kind_word(rule->second)) + " " +
                     std::to_string(number));
  }
}

void Tracer::on_asked(const AskedWords& asked) {
  const auto slot = std::ranges::find(slots_, 0U, &Slot::tid);
  demand(slot != slots_.end(), "too many requests");
  *slot = {++tids_, &asked};
  say("ask", std::to_string(slot - slots_.begin()) + " " + asked.agent + " " + asked.request + " " +
                 std::to_string(asked.rule));
}

void Tracer::on_reply(std::uint32_t tid, const Body& reply) {
  const auto slot = std::ranges::find(slots_, tid, &Slot::tid);
  demand(slot != slots_.end(), "a reply to no request");
  const auto outcome = outcome_word(reply);
  const bool new_rule = slot->asked->rule == 0 && outcome == "granted";
  const auto rule = new_rule ? made_.at(tid) : slot->asked->rule;
  say("reply",
      std::to_string(slot - slots_.begin()) + " - " + outcome + " " + std::to_string(rule));
  *slot = {};
}

void Tracer::on_event(const policy::RuleEvent& event) {
  const bool known = numbers_.contains(event.pid.value);
  const auto number = numbers_.try_emplace(event.pid.value, numbers_.size() + 1).first->second;
  if (!known) made_[event.creating_tid.value] = number;
  if (event.lifetime == Lifetime{0}) return say("ended", "- - - " + std::to_string(number));
  const auto& batch = box_.backend.batches.back();
  const auto change = std::ranges::find_if(
      batch, [&](const rule::RuleChange& one) { return one.after.pid == event.pid; });
  demand(change != batch.end(), "an event of another batch");
  const bool same = change->kind == rule::RuleChange::Kind::kSetLifetime;
  say(known ? "changed" : "made",
      "- - " + (same ? "-" : kind_word(change->after.kind)) + " " + std::to_string(number));
}

}  // namespace simco::simulator
