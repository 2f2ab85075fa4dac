#include "loadgen/generator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "loadgen/limits.hpp"

namespace simco::loadgen {

using boost::system::error_code;
using Clock = std::chrono::steady_clock;

Generator::Generator(boost::asio::io_context& io, const GeneratorOptions& options,
                     Recorder& recorder, std::uint32_t connections, const MakeClient& make_client)
    : io_(io),
      options_(options),
      recorder_(recorder),
      schedule_(options.arrivals, options.rate, options.seed),
      schedule_timer_(io),
      watch_timer_(io),
      lanes_(connections) {
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    lanes_[i].client = make_client(*this);
    lane_index_.emplace(lanes_[i].client.get(), i);
  }
}

void Generator::run(std::function<void(const Progress&)> progress) {
  progress_ = std::move(progress);
  start_ = Clock::now();
  for (Lane& lane : lanes_) lane.client->open();
  watch();
  io_.run();
}

std::uint64_t Generator::deleted() const {
  std::uint64_t sum = 0;
  for (const Lane& lane : lanes_) sum += lane.client->deleted();
  return sum;
}

std::uint64_t Generator::deletions_refused() const {
  std::uint64_t sum = 0;
  for (const Lane& lane : lanes_) sum += lane.client->deletions_refused();
  return sum;
}

std::int64_t Generator::now_ns() const {
  return std::chrono::nanoseconds(Clock::now() - start_).count();
}

Generator::Lane& Generator::lane_of(Client& client) { return lanes_[lane_index_.at(&client)]; }

// --- Sending -----------------------------------------------------------------------------------

void Generator::on_ready(Client& client) {
  lane_of(client).ready = true;
  if (++ready_ != lanes_.size()) return;
  if (on_hold_) return on_hold_();
  begin();
}

void Generator::release() {
  if (running_ || finishing_ || ready_ != lanes_.size()) return;
  begin();
}

void Generator::begin() {
  outbound_streams_ = lanes_.front().client->channel()->outbound_streams();
  inbound_streams_ = lanes_.front().client->channel()->inbound_streams();
  running_ = true;
  start_ = Clock::now() + kStartDelay;
  arm_schedule();
}

bool Generator::schedule_over() const {
  if (options_.count) return next_index_ >= options_.warmup + *options_.count;
  if (measure_from_ns_ < 0) return false;
  return static_cast<double>(schedule_.next_ns() - measure_from_ns_) >= options_.duration_s * 1e9;
}

void Generator::arm_schedule() {
  if (finishing_ || schedule_over()) return stop_if_done();
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
    if (measured(sample.index)) {
      if (measure_from_ns_ < 0) measure_from_ns_ = sample.scheduled_ns;
      recorder_.offered();
    }
    lanes_[sample.index % lanes_.size()].waiting.push_back(sample);
    ++in_flight_;
    schedule_.advance();
  }
  for (Lane& lane : lanes_) {
    if (!lane.waiting.empty()) pump(lane);
  }
  arm_schedule();
}

void Generator::pump(Lane& lane) {
  while (!lane.waiting.empty() && !lane.client->full()) {
    Sample& sample = lane.waiting.front();
    const std::size_t queued_before = lane.client->queued();
    const auto sent = lane.client->send(sample.index);
    if (!sent) return abort("a connection accepts no more transactions");
    lane.queued_total += lane.client->queued() - queued_before;
    sample.tid = sent->tid;
    sample.stream = sent->stream;
    lane.unsent.push_back({sent->tid, lane.queued_total});
    lane.order.push_back(sent->tid);
    lane.in_flight.emplace(sent->tid, sample);
    lane.waiting.pop_front();
  }
  lane.client->flush();
  mark_sent(lane);
}

void Generator::mark_sent(Lane& lane) {
  if (lane.unsent.empty()) return;
  const std::uint64_t taken =
      lane.queued_total - std::min<std::uint64_t>(lane.queued_total, lane.client->queued());
  const std::int64_t now = now_ns();
  while (!lane.unsent.empty() && lane.unsent.front().end <= taken) {
    const auto found = lane.in_flight.find(lane.unsent.front().tid);
    if (found != lane.in_flight.end()) found->second.sent_ns = now;
    lane.unsent.pop_front();
  }
}

// --- Replies -----------------------------------------------------------------------------------

void Generator::on_reply(Client& client, TransactionId tid,
                         std::optional<NegativeReplyCode> refused) {
  Lane& lane = lane_of(client);
  const auto found = lane.in_flight.find(tid);
  if (found == lane.in_flight.end()) return;  // timed out before
  Sample sample = found->second;
  lane.in_flight.erase(found);
  sample.received_ns = now_ns();
  finish_sample(sample, refused ? Outcome::kRefused : Outcome::kCompleted, refused);
}

void Generator::finish_sample(Sample sample, Outcome outcome,
                              std::optional<NegativeReplyCode> code) {
  --in_flight_;
  if (!measured(sample.index)) return;
  sample.index -= options_.warmup;
  sample.outcome = outcome;
  recorder_.finished(sample, code);
}

void Generator::on_turn(Client& client) {
  Lane& lane = lane_of(client);
  if (running_ && !finishing_) pump(lane);
  // Answered ones need no watching for their timeout any more.
  while (!lane.order.empty() && !lane.in_flight.contains(lane.order.front()))
    lane.order.pop_front();
  stop_if_done();
}

void Generator::on_down(Client& client, const error_code& reason) {
  Lane& lane = lane_of(client);
  lane.down = true;
  if (!finishing_) {
    abort((running_ ? "connection lost: " : "cannot open a session: ") + reason.message());
  }
  if (std::ranges::all_of(lanes_, &Lane::down)) io_.stop();
}

// --- Watching ----------------------------------------------------------------------------------

void Generator::watch() {
  const std::int64_t now = now_ns();
  if (running_ && !finishing_) {
    for (Lane& lane : lanes_) {
      mark_sent(lane);
      check_timeouts(lane, now);
      check_lag(lane, now);
    }
    if (progress_) {
      const auto& counts = recorder_.counts();
      progress_({static_cast<double>(now) / 1e9, counts.offered,
                 counts.completed + counts.refused + counts.timed_out, in_flight_});
    }
    stop_if_done();
  }
  watch_timer_.expires_after(kWatchInterval);
  watch_timer_.async_wait([this](const error_code& error) {
    if (!error) watch();
  });
}

void Generator::check_timeouts(Lane& lane, std::int64_t now) {
  const auto timeout = static_cast<std::int64_t>(options_.timeout_s * 1e9);
  while (!lane.order.empty()) {
    const auto found = lane.in_flight.find(lane.order.front());
    if (found != lane.in_flight.end()) {
      if (found->second.scheduled_ns + timeout > now) return;
      const Sample sample = found->second;
      lane.in_flight.erase(found);
      finish_sample(sample, Outcome::kTimedOut, std::nullopt);
    }
    lane.order.pop_front();
  }
}

void Generator::check_lag(const Lane& lane, std::int64_t now) {
  std::int64_t oldest = now;
  if (!lane.waiting.empty()) oldest = lane.waiting.front().scheduled_ns;
  if (!lane.unsent.empty()) {
    const auto found = lane.in_flight.find(lane.unsent.front().tid);
    if (found != lane.in_flight.end()) oldest = found->second.scheduled_ns;
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
  for (Lane& lane : lanes_) {
    for (auto& [tid, sample] : std::exchange(lane.in_flight, {})) {
      finish_sample(sample, Outcome::kUnanswered, std::nullopt);
    }
    for (auto& sample : std::exchange(lane.waiting, {})) {
      finish_sample(sample, Outcome::kUnanswered, std::nullopt);
    }
    lane.unsent.clear();
  }
  finish();
}

void Generator::stop_if_done() {
  if (running_ && !finishing_ && schedule_over() && in_flight_ == 0) finish();
}

void Generator::finish() {
  finishing_ = true;
  schedule_timer_.cancel();
  collect_transport_statistics();
  for (Lane& lane : lanes_) {
    if (!lane.down) lane.client->finish();
  }
  // A middlebox that does not answer the ST must not hold us up.
  watch_timer_.expires_after(std::chrono::seconds(2));
  watch_timer_.async_wait([this](const error_code& error) {
    if (!error) io_.stop();
  });
}

void Generator::collect_transport_statistics() {
  std::size_t connections = 0;
  for (const Lane& lane : lanes_) {
    if (lane.client->channel() == nullptr) continue;
    const auto figures = lane.client->channel()->statistics();
    if (figures.empty()) continue;
    ++connections;
    transport_statistics_.resize(figures.size());
    for (std::size_t i = 0; i < figures.size(); ++i) {
      transport_statistics_[i].first = figures[i].first;
      transport_statistics_[i].second += figures[i].second;
    }
  }
  // Counts add up over the connections, states of a connection are averaged.
  for (auto& [name, value] : transport_statistics_) {
    if (!name.starts_with("retransmitted")) value /= static_cast<double>(connections);
  }
}

}  // namespace simco::loadgen
