#include "loadgen/sip/arrivals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "loadgen/sip/limits.hpp"

namespace simco::loadgen::sip {

void Arrivals::add(CallId call, std::chrono::steady_clock::time_point now) {
  if (const auto found = places_.find(call); found != places_.end()) {
    ++entries_[found->second].copies;
    return;
  }
  if (entries_.size() >= kArrivalsMax) {
    ++not_noted_;
    return;
  }
  places_.emplace(call, entries_.size());
  entries_.push_back({call, std::chrono::nanoseconds(now.time_since_epoch()).count(), 1});
}

std::expected<void, std::string> Arrivals::write(const std::string& path) const {
  auto sorted = entries_;
  std::ranges::sort(
      sorted, {}, [](const Entry& entry) { return std::pair(entry.call.run, entry.call.number); });
  std::ofstream out(path);
  out << "call,arrived_ns,copies,run\n";
  for (const Entry& entry : sorted) {
    out << fmt::format("{},{},{},{}\n", entry.call.number, entry.arrived_ns, entry.copies,
                       run_text(entry.call.run));
  }
  out.close();
  if (!out) return std::unexpected("cannot write " + path + ": " + std::strerror(errno));
  return {};
}

}  // namespace simco::loadgen::sip
