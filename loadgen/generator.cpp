// Three parts: offering (the schedule's timer hands due transactions to the connections), replies,
// and watching (every kWatchInterval: timeouts, the abort lag, progress). A lost connection ends
// the run, or is opened again.
#include "loadgen/generator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "loadgen/limits.hpp"
#include "simco/net/limits.hpp"

namespace simco::loadgen {

using boost::system::error_code;
using Clock = std::chrono::steady_clock;

Generator::Generator(boost::asio::io_context& io, const GeneratorOptions& options,
                     Recorder& recorder, std::uint32_t connections, const MakeClient& make_client)
    : io_(io),
      options_(options),
      recorder_(recorder),
      offer_(options),
      schedule_timer_(io),
      watch_timer_(io),
      slots_(io, connections, options.seed,
             [this, make_client](std::size_t number) { return make_client(number, *this); }) {}

void Generator::run(std::function<void(const Progress&)> progress) {
  progress_ = std::move(progress);
  start_ = Clock::now();
  for (ClientSlot& slot : slots_) slot.client->open();
  watch();
  io_.run();
}

void Generator::let_connections_end() {
  if (!slots_.all_down()) return;
  schedule_timer_.cancel();
  watch_timer_.cancel();
  io_.restart();
  io_.run_for(net::kCloseTimeout);
}

std::int64_t Generator::now_ns() const {
  return std::chrono::nanoseconds(Clock::now() - start_).count();
}

// --- Sending -----------------------------------------------------------------------------------

void Generator::on_ready(Client& client) {
  if (phase_ != Phase::kOpening) {  // it was opened again
    ClientSlot& slot = slots_.of(client);
    ClientSlots::mark_up(slot);
    return phase_ == Phase::kRunning ? pump(slot) : client.finish();
  }
  slots_.mark_ready(client);
  if (!slots_.all_ready()) return;
  if (on_hold_) return on_hold_();
  begin();
}

void Generator::release() {
  if (phase_ != Phase::kOpening || !slots_.all_ready()) return;
  begin();
}

void Generator::begin() {
  streams_ = {slots_.first_channel().outbound_streams(), slots_.first_channel().inbound_streams()};
  phase_ = Phase::kRunning;
  start_ = Clock::now() + kStartDelay;
  arm_schedule();
}

void Generator::arm_schedule() {
  if (phase_ == Phase::kFinishing || offer_.over()) return end_of_schedule();
  schedule_timer_.expires_at(start_ + std::chrono::nanoseconds(offer_.next_ns()));
  schedule_timer_.async_wait([this](const error_code& error) {
    if (!error) tick();
  });
}

void Generator::tick() {
  const std::int64_t now = now_ns();
  while (!offer_.over() && offer_.next_ns() <= now) {
    const Sample sample = offer_.take(now);
    if (offer_.measured(sample)) recorder_.offered();
    slots_.for_transaction(sample.index).waiting.push_back(sample);
    ++in_flight_;
  }
  for (ClientSlot& slot : slots_) move_late(slot, now);
  for (ClientSlot& slot : slots_) {
    if (!slot.waiting.empty()) pump(slot);
  }
  arm_schedule();
}

void Generator::pump(ClientSlot& slot) {
  if (slot.down) return;
  while (!slot.waiting.empty() && !slot.client->full()) {
    Sample& sample = slot.waiting.front();
    const std::size_t queued_before = slot.client->queued();
    const auto sent = slot.client->send(sample.index);
    if (!sent && options_.reconnect) break;  // it is lost, as on_down() will say
    if (!sent) return abort("a connection accepts no more transactions");
    slot.queued_total += slot.client->queued() - queued_before;
    sample.key = sent->key;
    sample.stream = sent->stream;
    slot.unsent.push_back({sent->key, slot.queued_total});
    if (!options_.drain_s) slot.order.push_back({sent->key, now_ns()});
    slot.in_flight.emplace(sent->key, sample);
    slot.waiting.pop_front();
  }
  slot.client->flush();
  mark_sent(slot);
}

// The late reply over the old connection no longer counts.
void Generator::move_late(ClientSlot& slot, std::int64_t now) {
  ClientSlot& other = slots_.after(slot);
  if (options_.move_after_s == 0 || &other == &slot) return;
  const auto after = static_cast<std::int64_t>(options_.move_after_s * 1e9);
  for (; !slot.order.empty() && slot.order.front().at_ns + after <= now; slot.order.pop_front()) {
    const auto found = slot.in_flight.find(slot.order.front().key);
    if (found == slot.in_flight.end()) continue;
    slot.client->forget(found->first);
    found->second.again_ns = now;
    other.waiting.push_back(found->second);
    slot.in_flight.erase(found);
  }
}

void Generator::mark_sent(ClientSlot& slot) {
  if (slot.unsent.empty()) return;
  const std::uint64_t taken =
      slot.queued_total - std::min<std::uint64_t>(slot.queued_total, slot.client->queued());
  const std::int64_t now = now_ns();
  while (!slot.unsent.empty() && slot.unsent.front().end <= taken) {
    const auto found = slot.in_flight.find(slot.unsent.front().key);
    if (found != slot.in_flight.end()) {
      found->second.sent_ns = now;
      if (options_.drain_s) {
        finish_sample(found->second, {});
        slot.in_flight.erase(found);
      }
    }
    slot.unsent.pop_front();
  }
}

// --- Replies -----------------------------------------------------------------------------------

void Generator::on_ended(Client& client, TransactionKey key, Ending ending) {
  ClientSlot& slot = slots_.of(client);
  const auto found = slot.in_flight.find(key);
  if (found == slot.in_flight.end()) return;  // timed out before
  Sample sample = found->second;
  slot.in_flight.erase(found);
  if (ending.outcome != Outcome::kTimedOut) sample.received_ns = now_ns();
  finish_sample(sample, ending);
}

void Generator::finish_sample(Sample sample, Ending ending) {
  --in_flight_;
  if (!offer_.measured(sample)) return;
  sample.index -= options_.warmup;
  sample.outcome = ending.outcome;
  recorder_.finished(sample, ending.code);
}

void Generator::on_turn(Client& client) {
  ClientSlot& slot = slots_.of(client);
  if (phase_ == Phase::kRunning) pump(slot);
  // Answered transactions cannot time out any longer.
  while (!slot.order.empty() && !slot.in_flight.contains(slot.order.front().key))
    slot.order.pop_front();
  stop_if_done();
}

void Generator::on_down(Client& client, const error_code& reason) {
  ClientSlot& slot = slots_.of(client);
  slot.down = true;
  if (phase_ == Phase::kRunning && options_.reconnect) return reopen(slot);
  if (phase_ != Phase::kFinishing) {
    abort((phase_ == Phase::kRunning ? "connection lost: " : "cannot open a session: ") +
          reason.message());
  }
  if (slots_.all_down()) io_.stop();
}

void Generator::reopen(ClientSlot& slot) {
  auto unanswered = ClientSlots::take_unanswered(slot);
  for (Sample& sample : unanswered) sample.again_ns = now_ns();
  ClientSlot& heir = slots_.after(slot);
  heir.waiting.insert(heir.waiting.end(), unanswered.begin(), unanswered.end());
  pump(heir);
  slots_.reopen(slot, [this] { return phase_ == Phase::kRunning; });
}

// --- Watching ----------------------------------------------------------------------------------

void Generator::watch() {
  const std::int64_t now = now_ns();
  if (phase_ == Phase::kRunning) {
    for (ClientSlot& slot : slots_) {
      mark_sent(slot);
      check_timeouts(slot, now);
      check_lag(slot, now);
      move_late(slot, now);
    }
    for (ClientSlot& slot : slots_) pump(slot);
    if (progress_) {
      const auto& counts = recorder_.counts();
      progress_({static_cast<double>(now) / 1e9, counts.offered,
                 counts.completed + counts.refused + counts.timed_out, in_flight_,
                 offer_.left_s(now)});
    }
    stop_if_done();
  }
  watch_timer_.expires_after(kWatchInterval);
  watch_timer_.async_wait([this](const error_code& error) {
    if (!error) watch();
  });
}

void Generator::check_timeouts(ClientSlot& slot, std::int64_t now) {
  if (options_.drain_s) return;  // the end of the schedule bounds the run
  const auto timeout = static_cast<std::int64_t>(options_.timeout_s * 1e9);
  while (!slot.order.empty()) {
    const auto found = slot.in_flight.find(slot.order.front().key);
    if (found != slot.in_flight.end()) {
      if (found->second.scheduled_ns + timeout > now) return;
      const Sample sample = found->second;
      slot.in_flight.erase(found);
      slot.client->forget(sample.key);
      finish_sample(sample, {Outcome::kTimedOut});
    }
    slot.order.pop_front();
  }
  // Transactions that the transport does not accept: they wait so long only without --abort-lag.
  while (!slot.waiting.empty() && slot.waiting.front().scheduled_ns + timeout <= now) {
    finish_sample(slot.waiting.front(), {Outcome::kTimedOut});
    slot.waiting.pop_front();
  }
}

void Generator::check_lag(const ClientSlot& slot, std::int64_t now) {
  // A lost connection is opened again: its requests wait for that.
  if (options_.abort_lag_s == 0 || slot.down) return;
  const auto due = [](const Sample& sample) {
    return std::max(sample.scheduled_ns, sample.again_ns);
  };
  std::int64_t oldest = now;
  if (!slot.waiting.empty()) oldest = due(slot.waiting.front());
  if (!slot.unsent.empty()) {
    const auto found = slot.in_flight.find(slot.unsent.front().key);
    if (found != slot.in_flight.end()) oldest = due(found->second);
  }
  if (static_cast<double>(now - oldest) < options_.abort_lag_s * 1e9) return;
  abort(fmt::format(
      "a message was still not handed to the transport {:.3f} s after its scheduled time",
      static_cast<double>(now - oldest) / 1e9));
}

// --- The end -----------------------------------------------------------------------------------

void Generator::abort(std::string reason) {
  if (phase_ == Phase::kFinishing) return;
  abort_reason_ = std::move(reason);
  give_up_rest();
  finish();
}

void Generator::give_up_rest() {
  for (ClientSlot& slot : slots_) {
    for (auto& [key, sample] : std::exchange(slot.in_flight, {})) {
      finish_sample(sample, {Outcome::kUnanswered});
    }
    for (auto& sample : std::exchange(slot.waiting, {})) {
      finish_sample(sample, {Outcome::kUnanswered});
    }
    slot.unsent.clear();
  }
}

void Generator::end_of_schedule() {
  if (phase_ == Phase::kFinishing || !options_.drain_s) return stop_if_done();
  const auto drain = static_cast<std::int64_t>(*options_.drain_s * 1e9);
  schedule_timer_.expires_at(start_ + std::chrono::nanoseconds(offer_.last_ns() + drain));
  schedule_timer_.async_wait([this](const error_code& error) {
    if (error || phase_ == Phase::kFinishing) return;
    for (ClientSlot& slot : slots_) mark_sent(slot);
    give_up_rest();
    finish();
  });
}

void Generator::stop_if_done() {
  if (options_.drain_s) return;  // end_of_schedule() decides
  if (phase_ == Phase::kRunning && offer_.over() && in_flight_ == 0) finish();
}

void Generator::finish() {
  phase_ = Phase::kFinishing;
  schedule_timer_.cancel();
  transport_statistics_ = slots_.transport_statistics();
  for (ClientSlot& slot : slots_) {
    if (!slot.down) slot.client->finish();
  }
  // Do not wait longer for a middlebox that does not answer the ST.
  watch_timer_.expires_after(std::chrono::seconds(2));
  watch_timer_.async_wait([this](const error_code& error) {
    if (!error) io_.stop();
  });
}

}  // namespace simco::loadgen
