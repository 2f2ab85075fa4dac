// An offer, or an answer to one: which rules it needs, and its effect on the call. No I/O, no
// clock.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "agent/ng/call/call.hpp"
#include "agent/ng/call/limits.hpp"
#include "agent/ng/call/media.hpp"
#include "agent/ng/protocol/request.hpp"
#include "simco/wire/ids.hpp"

namespace simco::ng {

/// A request of a proxy.
struct PendingRequest {
  std::uint64_t id = 0;  ///< the caller's
  Request request;
  Moment since;
  bool replied = false;
};

/// The options of calls.
struct CallOptions {
  MediaRules media;
  Lifetime lifetime{60};
  std::chrono::seconds duration_max = kDurationMaxDefault;
  std::size_t calls_max = kCallsMaxDefault;
  bool counts = false;  ///< the middlebox can be asked for counters
  /// A call whose rules have counted nothing for so long is ended; 0: none is.
  std::chrono::seconds media_timeout{0};
  /// A media proxy does the work: requests are passed on to it, and each of its ports is opened
  /// to the party that it serves.
  bool upstream = false;
};

struct Exchange {
  bool answers = false;
  Offer offer;                         ///< that is made, or that is answered
  Description answer;                  ///< of an answer
  std::vector<InternalPorts> reserve;  ///< of an offer: the ports that have none outside
  std::vector<NeededRule> rules;       ///< of an answer: the rules that its leg needs
  bool ports_lost = false;             ///< some ports of the offer have none outside any longer
  std::string refusal;                 ///< of an answer: why it cannot be made; empty: it can
};

/// Reads an offer or an answer. `nat`: the middlebox is one. Returns why it cannot be made.
std::expected<Exchange, std::string> read_exchange(Call& call, const PendingRequest& asked,
                                                   const CallOptions& options, bool nat);

/// Takes the SDP that the media proxy has made of the exchange's. Returns a fault, if it has one.
std::optional<std::string> take_sent_on(Exchange& exchange, const Sdp& sdp,
                                        const MediaRules& media);

/// Makes the exchange part of the call. Returns it as a line of the log.
std::string conclude(Call& call, Exchange exchange, const PendingRequest& asked);

/// Returns the SDP that goes on to the other party.
std::string translated(const Call& call, const Request& request, bool nat);

/// Returns the words that rtpengine has for a refusal of the middlebox, if any: proxies act on some
/// of them.
std::string refusal(std::optional<NegativeReplyCode> code, const std::string& text);

}  // namespace simco::ng
