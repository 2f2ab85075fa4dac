// Where SIP messages begin and end (RFC 3261 18.3, RFC 4168): by Content-Length in a stream of
// octets; over SCTP and UDP a message is a user message or a datagram.
#pragma once

#include <string_view>

#include "loadgen/sip/limits.hpp"
#include "simco/net/framer.hpp"

namespace simco::loadgen::sip {

/// Also finds the empty lines that keep connections alive (RFC 5626 3.5.1), as messages of two
/// octets.
class SipFramer final : public net::Framer {
 public:
  std::expected<std::size_t, net::FramingError> size_of(
      std::span<const std::byte> octets) const override;
  std::size_t lookahead() const override { return kLookahead; }
  /// The parser finds its errors.
  std::optional<net::FramingError> fault_in(std::span<const std::byte> octets,
                                            std::size_t received) const override;
  std::size_t size_max() const override { return kMessageMax; }
};

/// Serves all channels.
inline constexpr SipFramer kSipFramer;

/// Returns the octets as text.
inline std::string_view text_of(std::span<const std::byte> octets) {
  return {reinterpret_cast<const char*>(octets.data()), octets.size()};
}

}  // namespace simco::loadgen::sip
