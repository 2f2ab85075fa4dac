#include "loadgen/recorder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace simco::loadgen {
namespace {

const char* to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::kCompleted: return "completed";
    case Outcome::kRefused: return "refused";
    case Outcome::kTimedOut: return "timed_out";
    case Outcome::kUnanswered: return "unanswered";
  }
  return "undefined";
}

}  // namespace

void Recorder::finished(const Sample& sample, std::optional<RefusalCode> code) {
  if (sample.sent_ns >= 0) ++counts_.sent;
  if (first_ns_ < 0 || sample.scheduled_ns < first_ns_) first_ns_ = sample.scheduled_ns;
  last_ns_ = std::max(last_ns_, sample.received_ns);
  if (sample.tried_ns >= 0) lag_.add(sample.tried_ns - sample.scheduled_ns);
  switch (sample.outcome) {
    case Outcome::kCompleted:
      ++counts_.completed;
      if (sample.received_ns < 0) {  // it has no reply
        last_ns_ = std::max(last_ns_, sample.sent_ns);
        break;
      }
      response_.add(sample.received_ns - sample.scheduled_ns);
      service_.add(sample.received_ns - sample.sent_ns);
      break;
    case Outcome::kRefused:
      ++counts_.refused;
      if (code) ++refusals_[*code];
      break;
    case Outcome::kTimedOut: ++counts_.timed_out; break;
    case Outcome::kUnanswered: break;
  }
  if (keep_samples_) samples_.push_back(sample);
}

std::expected<void, std::string> Recorder::write_samples(const std::string& path) {
  std::ranges::sort(samples_, {}, &Sample::index);
  std::ofstream out(path);
  std::string line = "index,tid,stream,scheduled_ns,sent_ns,received_ns,outcome\n";
  out << line;
  const auto time = [](std::int64_t ns) { return ns < 0 ? std::string() : std::to_string(ns); };
  for (const Sample& sample : samples_) {
    line = fmt::format("{},{},{},{},{},{},{}\n", sample.index, sample.key.value,
                       sample.stream.value, sample.scheduled_ns, time(sample.sent_ns),
                       time(sample.received_ns), to_string(sample.outcome));
    out << line;
  }
  out.close();
  if (!out) return std::unexpected("cannot write " + path + ": " + std::strerror(errno));
  return {};
}

}  // namespace simco::loadgen
