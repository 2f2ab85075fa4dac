// Three parts: offering (the schedule's timer hands due transactions to the connections), replies,
// and watching (every kWatchInterval: timeouts, the abort lag, progress).
#include "loadgen/generator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "loadgen/limits.hpp"

namespace simco::loadgen {

using boost::system::error_code;
using Clock = std::chrono::steady_clock;

double schedule_length_s(const GeneratorOptions& options) {
  const auto counted = static_cast<double>(options.warmup + options.count.value_or(0));
  return counted / options.rate + (options.count ? 0 : options.duration_s);
}

Generator::Generator(boost::asio::io_context& io, const GeneratorOptions& options,
                     Recorder& recorder, std::uint32_t connections, const MakeClient& make_client)
    : io_(io),
      options_(options),
      recorder_(recorder),
      schedule_(options.due.empty() ? Schedule(options.arrivals, options.rate, options.seed)
                                    : Schedule(options.due)),
      schedule_timer_(io),
      watch_timer_(io),
      slots_(connections) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].client = make_client(*this);
    slot_index_.emplace(slots_[i].client.get(), i);
  }
}

void Generator::run(std::function<void(const Progress&)> progress) {
  progress_ = std::move(progress);
  start_ = Clock::now();
  for (ClientSlot& slot : slots_) slot.client->open();
  watch();
  io_.run();
}

Housekeeping Generator::housekeeping() const {
  Housekeeping sum;
  for (const ClientSlot& slot : slots_) {
    const Housekeeping part = slot.client->housekeeping();
    sum.done += part.done;
    sum.refused += part.refused;
  }
  return sum;
}

std::vector<Tally> Generator::tallies() const {
  std::vector<Tally> sum;
  for (const ClientSlot& slot : slots_) {
    const auto part = slot.client->tallies();
    sum.resize(part.size());
    for (std::size_t i = 0; i < part.size(); ++i) {
      sum[i] = {part[i].name, sum[i].count + part[i].count};
    }
  }
  return sum;
}

std::int64_t Generator::now_ns() const {
  return std::chrono::nanoseconds(Clock::now() - start_).count();
}

Generator::ClientSlot& Generator::slot_of(Client& client) {
  return slots_[slot_index_.at(&client)];
}

// --- Sending -----------------------------------------------------------------------------------

void Generator::on_ready(Client& client) {
  slot_of(client).ready = true;
  if (++ready_ != slots_.size()) return;
  if (on_hold_) return on_hold_();
  begin();
}

void Generator::release() {
  if (running_ || finishing_ || ready_ != slots_.size()) return;
  begin();
}

void Generator::begin() {
  outbound_streams_ = slots_.front().client->channel()->outbound_streams();
  inbound_streams_ = slots_.front().client->channel()->inbound_streams();
  running_ = true;
  start_ = Clock::now() + kStartDelay;
  arm_schedule();
}

bool Generator::schedule_over() const {
  if (options_.count) return next_index_ >= options_.warmup + *options_.count;
  if (measure_from_ns_ < 0) return false;
  return static_cast<double>(schedule_.next_ns() - measure_from_ns_) >= options_.duration_s * 1e9;
}

double Generator::left_s(std::int64_t now) const {
  // What is not offered yet, in transactions or, after the warm-up, in time.
  const std::uint64_t planned = options_.warmup + options_.count.value_or(0);
  const auto to_offer = static_cast<double>(planned - std::min(planned, next_index_));
  if (options_.count) return to_offer / options_.rate;
  if (measure_from_ns_ < 0) return to_offer / options_.rate + options_.duration_s;
  return std::max(options_.duration_s - static_cast<double>(now - measure_from_ns_) / 1e9, 0.0);
}

void Generator::arm_schedule() {
  if (finishing_ || schedule_over()) return end_of_schedule();
  schedule_timer_.expires_at(start_ + std::chrono::nanoseconds(schedule_.next_ns()));
  schedule_timer_.async_wait([this](const error_code& error) {
    if (!error) tick();
  });
}

void Generator::tick() {
  const std::int64_t now = now_ns();
  while (!schedule_over() && schedule_.next_ns() <= now) {
    Sample sample;
    sample.index = next_index_++;
    sample.scheduled_ns = schedule_.next_ns();
    sample.tried_ns = now;
    last_scheduled_ns_ = sample.scheduled_ns;
    if (measured(sample.index)) {
      if (measure_from_ns_ < 0) measure_from_ns_ = sample.scheduled_ns;
      recorder_.offered();
    }
    slots_[sample.index % slots_.size()].waiting.push_back(sample);
    ++in_flight_;
    schedule_.advance();
  }
  for (ClientSlot& slot : slots_) {
    if (!slot.waiting.empty()) pump(slot);
  }
  arm_schedule();
}

void Generator::pump(ClientSlot& slot) {
  while (!slot.waiting.empty() && !slot.client->full()) {
    Sample& sample = slot.waiting.front();
    const std::size_t queued_before = slot.client->queued();
    const auto sent = slot.client->send(sample.index);
    if (!sent) return abort("a connection accepts no more transactions");
    slot.queued_total += slot.client->queued() - queued_before;
    sample.key = sent->key;
    sample.stream = sent->stream;
    slot.unsent.push_back({sent->key, slot.queued_total});
    if (!options_.drain_s) slot.order.push_back(sent->key);
    slot.in_flight.emplace(sent->key, sample);
    slot.waiting.pop_front();
  }
  slot.client->flush();
  mark_sent(slot);
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
  ClientSlot& slot = slot_of(client);
  const auto found = slot.in_flight.find(key);
  if (found == slot.in_flight.end()) return;  // timed out before
  Sample sample = found->second;
  slot.in_flight.erase(found);
  if (ending.outcome != Outcome::kTimedOut) sample.received_ns = now_ns();
  finish_sample(sample, ending);
}

void Generator::finish_sample(Sample sample, Ending ending) {
  --in_flight_;
  if (!measured(sample.index)) return;
  sample.index -= options_.warmup;
  sample.outcome = ending.outcome;
  recorder_.finished(sample, ending.code);
}

void Generator::on_turn(Client& client) {
  ClientSlot& slot = slot_of(client);
  if (running_ && !finishing_) pump(slot);
  // Answered transactions cannot time out any longer.
  while (!slot.order.empty() && !slot.in_flight.contains(slot.order.front()))
    slot.order.pop_front();
  stop_if_done();
}

void Generator::on_down(Client& client, const error_code& reason) {
  ClientSlot& slot = slot_of(client);
  slot.down = true;
  if (!finishing_) {
    abort((running_ ? "connection lost: " : "cannot open a session: ") + reason.message());
  }
  if (std::ranges::all_of(slots_, &ClientSlot::down)) io_.stop();
}

// --- Watching ----------------------------------------------------------------------------------

void Generator::watch() {
  const std::int64_t now = now_ns();
  if (running_ && !finishing_) {
    for (ClientSlot& slot : slots_) {
      mark_sent(slot);
      check_timeouts(slot, now);
      check_lag(slot, now);
    }
    if (progress_) {
      const auto& counts = recorder_.counts();
      progress_({static_cast<double>(now) / 1e9, counts.offered,
                 counts.completed + counts.refused + counts.timed_out, in_flight_, left_s(now)});
    }
    stop_if_done();
  }
  watch_timer_.expires_after(kWatchInterval);
  watch_timer_.async_wait([this](const error_code& error) {
    if (!error) watch();
  });
}

void Generator::check_timeouts(ClientSlot& slot, std::int64_t now) {
  if (options_.drain_s) return;  // the end of the schedule is what bounds the run
  const auto timeout = static_cast<std::int64_t>(options_.timeout_s * 1e9);
  while (!slot.order.empty()) {
    const auto found = slot.in_flight.find(slot.order.front());
    if (found != slot.in_flight.end()) {
      if (found->second.scheduled_ns + timeout > now) return;
      const Sample sample = found->second;
      slot.in_flight.erase(found);
      slot.client->forget(sample.key);
      finish_sample(sample, {Outcome::kTimedOut});
    }
    slot.order.pop_front();
  }
  // What the transport does not even take: only without --abort-lag does it wait so long.
  while (!slot.waiting.empty() && slot.waiting.front().scheduled_ns + timeout <= now) {
    finish_sample(slot.waiting.front(), {Outcome::kTimedOut});
    slot.waiting.pop_front();
  }
}

void Generator::check_lag(const ClientSlot& slot, std::int64_t now) {
  if (options_.abort_lag_s == 0) return;
  std::int64_t oldest = now;
  if (!slot.waiting.empty()) oldest = slot.waiting.front().scheduled_ns;
  if (!slot.unsent.empty()) {
    const auto found = slot.in_flight.find(slot.unsent.front().key);
    if (found != slot.in_flight.end()) oldest = found->second.scheduled_ns;
  }
  if (static_cast<double>(now - oldest) < options_.abort_lag_s * 1e9) return;
  abort(fmt::format(
      "a message was still not handed to the transport {:.3f} s after its scheduled time",
      static_cast<double>(now - oldest) / 1e9));
}

// --- The end -----------------------------------------------------------------------------------

void Generator::abort(std::string reason) {
  if (finishing_) return;
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
  if (finishing_ || !options_.drain_s) return stop_if_done();
  const auto drain = static_cast<std::int64_t>(*options_.drain_s * 1e9);
  schedule_timer_.expires_at(start_ + std::chrono::nanoseconds(last_scheduled_ns_ + drain));
  schedule_timer_.async_wait([this](const error_code& error) {
    if (error || finishing_) return;
    for (ClientSlot& slot : slots_) mark_sent(slot);
    give_up_rest();
    finish();
  });
}

void Generator::stop_if_done() {
  if (options_.drain_s) return;  // end_of_schedule() decides
  if (running_ && !finishing_ && schedule_over() && in_flight_ == 0) finish();
}

void Generator::finish() {
  finishing_ = true;
  schedule_timer_.cancel();
  collect_transport_statistics();
  for (ClientSlot& slot : slots_) {
    if (!slot.down) slot.client->finish();
  }
  // Do not wait longer for a middlebox that does not answer the ST.
  watch_timer_.expires_after(std::chrono::seconds(2));
  watch_timer_.async_wait([this](const error_code& error) {
    if (!error) io_.stop();
  });
}

void Generator::collect_transport_statistics() {
  std::size_t connections = 0;
  for (const ClientSlot& slot : slots_) {
    if (slot.client->channel() == nullptr) continue;
    const auto figures = slot.client->channel()->statistics();
    if (figures.empty()) continue;
    ++connections;
    transport_statistics_.resize(figures.size());
    for (std::size_t i = 0; i < figures.size(); ++i) {
      const double sum = transport_statistics_[i].value;
      transport_statistics_[i] = figures[i];
      transport_statistics_[i].value += sum;
    }
  }
  for (net::TransportFigure& figure : transport_statistics_) {
    if (!figure.total) figure.value /= static_cast<double>(connections);
  }
}

}  // namespace simco::loadgen
