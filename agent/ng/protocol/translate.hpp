// The SDP that goes on to the other party.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "agent/ng/protocol/request.hpp"
#include "agent/ng/protocol/sdp.hpp"

namespace simco::ng {

/// Returns the outside address and port of an inside one, or nullopt if they are the same.
using OutsideOf = std::function<std::optional<TransportAddress>(const TransportAddress&)>;

/// Returns `sdp` with the outside addresses and ports of its UDP media in c=, m=, a=rtcp and
/// a=candidate, and in o= if the request says so; without ICE if the request says that.
std::string translate(const Sdp& sdp, const Request& request, const OutsideOf& outside_of);

}  // namespace simco::ng
