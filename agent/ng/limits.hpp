// Bounds of simco-ng. All of them are ours unless a document is named.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace simco::ng {

/// Port of the ng protocol in the configurations of proxies.
inline constexpr std::uint16_t kNgPortDefault = 2223;
/// Octets of a datagram that is received: UDP carries no more.
inline constexpr std::size_t kDatagramMax = 65'535;
/// Octets of datagrams that have been read and wait for their turn; more are lost, as in any
/// network.
inline constexpr std::size_t kBacklogMax = 64 * 1024 * 1024;
/// Datagrams that are taken in one turn of the loop.
inline constexpr std::size_t kDatagramsPerTurn = 16;
/// Octets of a reply: what IPv4 leaves of that.
inline constexpr std::size_t kReplyMax = 65'507;
/// Octets of a cookie. Proxies use about 20.
inline constexpr std::size_t kCookieMax = 255;
/// Lists and dictionaries inside each other.
inline constexpr std::size_t kDepthMax = 16;
/// Octets of a call-id, a tag or a branch.
inline constexpr std::size_t kIdentifierMax = 1024;

/// Media of an SDP.
inline constexpr std::size_t kMediaMax = 32;
/// ICE candidates of an SDP.
inline constexpr std::size_t kCandidatesMax = 128;
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

/// From a question for what rules have counted to its answer: well within kReplyPatience.
inline constexpr std::chrono::milliseconds kCountersPatience{500};
/// While there are no answers, a delete does not wait for one more often than this.
inline constexpr std::chrono::seconds kCountersRetry{5};
/// Octets of such an answer.
inline constexpr std::size_t kCountersOctetsMax = 4 * 1024 * 1024;
/// With --media-timeout, a quarter of it passes between two readings of all counters, within these
/// limits.
inline constexpr std::chrono::seconds kReadingPauseMin{1};
inline constexpr std::chrono::seconds kReadingPauseMax{10};

/// Longest pause between attempts to open a session: calls wait for it.
inline constexpr std::chrono::seconds kReconnectPauseMax{1};
/// Lost rules that are made again at a time: new calls do not wait behind those of all others.
inline constexpr std::size_t kRestoringMax = 256;

/// How long a reply is kept for repetitions of its request.
inline constexpr std::chrono::seconds kRepliesKeptFor{30};
/// Octets of all replies that are kept; beyond it, the oldest are dropped.
inline constexpr std::size_t kRepliesOctetsMax = 64 * 1024 * 1024;

}  // namespace simco::ng
