// Requests of the ng protocol, in the words of rtpengine's documentation ("ng control protocol").
// Keys and flags may have spaces, hyphens or underscores, which mean the same here.
#pragma once

#include <cstdint>
#include <expected>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "simco/wire/ip.hpp"

namespace simco::ng {

enum class Command : std::uint8_t { kPing, kOffer, kAnswer, kDelete, kQuery, kList, kStatistics };
inline constexpr std::size_t kCommands = 7;

/// Returns the word of the protocol.
std::string_view name_of(Command command);

/// The side of the middlebox that a party is on.
enum class Side : std::uint8_t { kInternal, kExternal };

/// `direction`: the sides of the SDP's sender and of its receiver.
struct Sides {
  Side from = Side::kInternal;
  Side to = Side::kExternal;
  friend bool operator==(const Sides&, const Sides&) = default;
};

struct Request {
  Command command = Command::kPing;
  std::string call_id;
  std::string from_tag;  ///< the offerer's, also in an answer
  std::string to_tag;
  std::string via_branch;
  std::string sdp;
  std::optional<Sides> direction;
  std::optional<IpAddress> received_from;  ///< where the SIP message came from
  bool trusts_source = false;              ///< flag SIP-source-address
  bool replaces_origin = false;            ///< replace: origin
  bool removes_ice = false;                ///< ICE=remove
  bool fatal = false;                      ///< flag fatal: of a delete that finds nothing
  std::size_t limit = 0;                   ///< of a list
  std::string transport_protocol;          ///< that the SDP must have; empty: any
  /// The demand that only a media proxy can meet, such as "ICE=force". Empty: nothing.
  std::string beyond_us;
  std::string dictionary;  ///< its octets, to be passed on; the reader of requests leaves it empty
};

/// Reads a request. Unknown keys and flags are ignored. Returns the error that rtpengine returns.
std::expected<Request, std::string> read_request(const nlohmann::json& dictionary);

/// The reply to a request that failed.
nlohmann::json error_reply(std::string_view reason);

}  // namespace simco::ng
