// An offer, or an answer to one: which rules it needs, and its effect on the call. No I/O, no
// clock.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "agent/ng/call/call.hpp"
#include "agent/ng/call/media.hpp"
#include "agent/ng/protocol/request.hpp"

namespace simco::ng {

/// A request of a proxy.
struct PendingRequest {
  std::uint64_t id = 0;  ///< the caller's
  Request request;
  Moment since;
  bool replied = false;
};

/// The options and the middlebox.
struct ExchangeTerms {
  const MediaRules& media;
  bool upstream;  ///< a media proxy makes the SDP that goes on
  bool nat;
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

/// Reads an offer or an answer. Returns why it cannot be made.
std::expected<Exchange, std::string> read_exchange(Call& call, const PendingRequest& asked,
                                                   const ExchangeTerms& terms);

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
