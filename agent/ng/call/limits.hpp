// Bounds of calls. All of them are ours.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace simco::ng {

/// Internal ports below it are not opened: services listen there.
inline constexpr std::uint16_t kInternalPortMin = 1024;

/// Rules and reservations of a call.
inline constexpr std::size_t kRulesOfCallMax = 128;
/// Pairs of parties of a call that have answered each other.
inline constexpr std::size_t kLegsMax = 32;
/// Offers of a call that are kept for their answers.
inline constexpr std::size_t kOffersMax = 32;
/// Tags of a call.
inline constexpr std::size_t kPartiesMax = 64;
/// Requests of a call that wait for an earlier one.
inline constexpr std::size_t kWaitingMax = 64;

/// Calls, unless --max-calls says otherwise.
inline constexpr std::size_t kCallsMaxDefault = 100'000;
/// Calls that a list names, unless the request says otherwise.
inline constexpr std::size_t kListLimitDefault = 32;

/// From a request to its reply; proxies repeat a request after a second.
inline constexpr std::chrono::milliseconds kReplyPatience{850};
/// From an offer to its answer: longer than SIP's timer C (RFC 3261 section 16.6).
inline constexpr std::chrono::minutes kOfferPatience{10};
/// Duration of a call, unless --max-duration says otherwise.
inline constexpr std::chrono::hours kDurationMaxDefault{12};

/// From a question for counters of rules to its answer: well within kReplyPatience.
inline constexpr std::chrono::milliseconds kCountersPatience{500};
/// While there are no answers, a delete does not wait for one more often than this.
inline constexpr std::chrono::seconds kCountersRetry{5};
/// With --media-timeout, a quarter of it passes between two readings of all counters, within these
/// limits.
inline constexpr std::chrono::seconds kReadingPauseMin{1};
inline constexpr std::chrono::seconds kReadingPauseMax{10};

/// Lost rules that are made again at a time: new calls do not wait behind those of all others.
inline constexpr std::size_t kRestoringMax = 256;

}  // namespace simco::ng
