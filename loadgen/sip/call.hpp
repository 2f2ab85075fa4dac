// The identity of a call of ours: the seed of its run, and a number. Branch and Call-ID spell both,
// so that the two ends of a run can be joined without asking.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace simco::loadgen::sip {

/// A call of a run.
struct CallId {
  std::uint32_t number = 0;  ///< in the order of the schedule, from 0
  std::uint32_t run = 0;     ///< run_of() its seed
  friend bool operator==(const CallId&, const CallId&) = default;
};

/// Returns the part of a run's seed in its messages.
constexpr std::uint32_t run_of(std::uint64_t seed) {
  return static_cast<std::uint32_t>((seed * 0x9E3779B97F4A7C15) >> 32);
}

/// Magic cookie of branches (RFC 3261 8.1.1.7).
inline constexpr std::string_view kBranchCookie = "z9hG4bK";
/// Octets of a call as text: eight hexadecimal digits of the run, eight of the number.
inline constexpr std::size_t kCallTextSize = 16;

/// Returns a run as messages spell it: eight hexadecimal digits.
std::string run_text(std::uint32_t run);
/// Writes `call` to the kCallTextSize octets at `out`.
void write_call(CallId call, char* out);
/// Reads the output of write_call(), all of `text`.
std::optional<CallId> read_call(std::string_view text);

}  // namespace simco::loadgen::sip

template <>
struct std::hash<simco::loadgen::sip::CallId> {
  std::size_t operator()(const simco::loadgen::sip::CallId& call) const noexcept {
    return std::hash<std::uint64_t>{}(call.number | (std::uint64_t{call.run} << 32));
  }
};
