// SIP messages to octets: INVITE with SDP and ACK of the client, responses of the server. Sizes are
// exact: the filling is in the SDP of an INVITE, and in the Server field of a response.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loadgen/sip/call.hpp"
#include "loadgen/sip/message.hpp"

namespace simco::loadgen::sip {

/// Makes the INVITEs of a run, which differ only in the identity of their call.
class InviteWriter {
 public:
  /// `transport`: as Via names it, such as "UDP". `size`: octets of the whole message; at least
  /// size_min(). The same arguments make the same octets on every machine.
  InviteWriter(std::string_view transport, std::size_t size, std::uint32_t run);

  /// Returns the size of the shortest INVITE.
  static std::size_t size_min(std::string_view transport);

  std::size_t size() const { return text_.size(); }
  /// Writes the INVITE of call `number`, size() octets.
  void write(std::uint32_t number, std::span<std::byte> out) const;

 private:
  std::uint32_t run_;
  std::string text_;
  std::vector<std::size_t> places_;  ///< of the call in it
};

/// Returns the call of a response to one of our INVITEs, by its branch (RFC 3261 17.1.3); nothing
/// for other responses.
std::optional<CallId> call_of_response(const Message& response);
/// Returns the call that a request of ours belongs to, by its Call-ID, which proxies leave alone.
std::optional<CallId> call_of_request(const Message& request);

/// Returns the ACK for a final response to an INVITE: of the same transaction for 300 and above
/// (17.1.1.3), otherwise of its own transaction, to the Contact along the Record-Route (13.2.2.4).
std::string make_ack(const Message& response, std::string_view transport);

/// Where a request came from, as its response must say (RFC 3261 18.2.1, RFC 3581).
struct Source {
  std::string address;
  std::uint16_t port = 0;
};

/// A response, without the fields that it repeats of its request.
struct ResponseKind {
  std::uint16_t status;
  std::string_view reason;
  std::string_view further = {};  ///< header lines
};

/// Returns the response to `request`, of `size` octets, or of as few more as it needs.
std::string make_response(const Message& request, const ResponseKind& kind, const Source& source,
                          std::size_t size);

/// Returns the size of the shortest response of this kind to an INVITE of ours.
std::size_t response_size_min(const ResponseKind& kind);

}  // namespace simco::loadgen::sip
