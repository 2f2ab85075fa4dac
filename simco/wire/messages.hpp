// Every message of RFC 4540 section 5 as a struct. Its kAttributes lists the attributes of the
// message's figure in the figure's order (std::optional if the figure says so), and is the
// single source for the decoder, the encoder, the sizes, comparisons and the tests' generators.
//
// Requests for rules can be made of text: PerRequest::udp("10.0.0.5:5004/2", "192.0.2.7:6000/2",
// 60s). tuple_text.hpp has the forms of an endpoint. The lifetime is 1 s to 2^32 - 1 s. These
// functions throw std::invalid_argument, with a sentence for users, if a text is not an endpoint,
// the lifetime is out of range, ports are named without a protocol, or the two sides name different
// numbers of ports.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "simco/wire/attributes.hpp"
#include "simco/wire/ids.hpp"
#include "simco/wire/reply_code.hpp"

namespace simco {

/// Basic message types (4.2.1).
enum class BasicType : std::uint8_t {
  kRequest = 0x01,
  kPositiveReply = 0x02,
  kNegativeReply = 0x03,
  kNotification = 0x04,
};

/// Sub-types of requests and positive replies (4.2.2).
enum class SubType : std::uint8_t {
  kSe = 0x01,
  kSa = 0x02,
  kSt = 0x03,
  kPrr = 0x11,
  kPer = 0x12,
  kPea = 0x13,  ///< request only
  kPdr = 0x14,
  kPlc = 0x15,
  kPrd = 0x16,  ///< positive reply only
  kPrs = 0x21,
  kPrl = 0x22,
  kPes = 0x23,  ///< positive reply only
  kPds = 0x24,  ///< positive reply only
};

/// Sub-types of notifications (4.2.4).
enum class NotificationType : std::uint8_t { kBfm = 0x01, kAst = 0x02, kAre = 0x03 };

/// The message type of 4.1, which needs both fields.
struct MessageType {
  std::uint8_t basic = 0;
  std::uint8_t sub = 0;
  friend constexpr auto operator<=>(const MessageType&, const MessageType&) = default;
};

namespace detail {
constexpr MessageType request(SubType sub) {
  return {static_cast<std::uint8_t>(BasicType::kRequest), static_cast<std::uint8_t>(sub)};
}
constexpr MessageType positive(SubType sub) {
  return {static_cast<std::uint8_t>(BasicType::kPositiveReply), static_cast<std::uint8_t>(sub)};
}
constexpr MessageType notification(NotificationType sub) {
  return {static_cast<std::uint8_t>(BasicType::kNotification), static_cast<std::uint8_t>(sub)};
}
}  // namespace detail

// --- Session control: requests -----------------------------------------------------------------

/// Session establishment (5.2.1, figure 17).
struct SeRequest {
  static constexpr MessageType kType = detail::request(SubType::kSe);
  ProtocolVersion version;
  std::optional<Challenge> challenge;  ///< asks the middlebox to authenticate itself
  static constexpr auto kAttributes = std::tuple{&SeRequest::version, &SeRequest::challenge};
};

/// Session authentication (5.2.4, figure 20).
struct SaRequest {
  static constexpr MessageType kType = detail::request(SubType::kSa);
  std::optional<Token> token;
  static constexpr auto kAttributes = std::tuple{&SaRequest::token};
};

/// Session termination (5.2.5, figure 21).
struct StRequest {
  static constexpr MessageType kType = detail::request(SubType::kSt);
  static constexpr auto kAttributes = std::tuple{};
};

// --- Policy rule control: requests -------------------------------------------------------------

/// Policy reserve rule (5.3.2, figure 23).
struct PrrRequest {
  static constexpr MessageType kType = detail::request(SubType::kPrr);
  PrrParameterSet parameters;
  Lifetime lifetime;
  std::optional<GroupId> group;
  static constexpr auto kAttributes =
      std::tuple{&PrrRequest::parameters, &PrrRequest::lifetime, &PrrRequest::group};

  /// Reserves `ports` consecutive IPv4 ports for UDP, on the outside of a traditional NAT.
  static PrrRequest udp(std::uint16_t ports, std::chrono::seconds lifetime,
                        ReservedParity parity = ReservedParity::kAny) {
    return of(kProtocolUdp, ports, lifetime, parity);
  }
  /// The same for TCP.
  static PrrRequest tcp(std::uint16_t ports, std::chrono::seconds lifetime) {
    return of(kProtocolTcp, ports, lifetime, ReservedParity::kAny);
  }
  /// The same for any protocol.
  static PrrRequest of(std::uint8_t protocol, std::uint16_t ports, std::chrono::seconds lifetime,
                       ReservedParity parity);
};

/// Policy enable rule (5.3.3, figure 24).
struct PerRequest {
  static constexpr MessageType kType = detail::request(SubType::kPer);
  PerParameterSet parameters;
  AddressTuple internal;
  AddressTuple external{.location = Location::kExternal};
  Lifetime lifetime;
  std::optional<GroupId> group;
  static constexpr auto kAttributes =
      std::tuple{&PerRequest::parameters, &PerRequest::internal, &PerRequest::external,
                 &PerRequest::lifetime, &PerRequest::group};

  /// A request for UDP.
  static PerRequest udp(std::string_view internal, std::string_view external,
                        std::chrono::seconds lifetime) {
    return of(kProtocolUdp, internal, external, lifetime);
  }
  /// A request for TCP.
  static PerRequest tcp(std::string_view internal, std::string_view external,
                        std::chrono::seconds lifetime) {
    return of(kProtocolTcp, internal, external, lifetime);
  }
  /// A request for any protocol (kProtocolAny: all of them). Its direction is bidirectional if both
  /// sides are exact, and inbound if a side has a wildcard, which excludes bidirectional (8.3.1).
  static PerRequest of(std::uint8_t protocol, std::string_view internal, std::string_view external,
                       std::chrono::seconds lifetime);
};

/// Policy enable rule after reservation (5.3.4, figure 25).
struct PeaRequest {
  static constexpr MessageType kType = detail::request(SubType::kPea);
  PerParameterSet parameters;
  AddressTuple internal;
  AddressTuple external{.location = Location::kExternal};
  Lifetime lifetime;
  PolicyRuleId pid;  ///< the reservation
  static constexpr auto kAttributes =
      std::tuple{&PeaRequest::parameters, &PeaRequest::internal, &PeaRequest::external,
                 &PeaRequest::lifetime, &PeaRequest::pid};

  /// A request for UDP.
  static PeaRequest udp(PolicyRuleId reservation, std::string_view internal,
                        std::string_view external, std::chrono::seconds lifetime) {
    return of(kProtocolUdp, reservation, internal, external, lifetime);
  }
  /// A request for TCP.
  static PeaRequest tcp(PolicyRuleId reservation, std::string_view internal,
                        std::string_view external, std::chrono::seconds lifetime) {
    return of(kProtocolTcp, reservation, internal, external, lifetime);
  }
  /// A request for any protocol, see PerRequest::of().
  static PeaRequest of(std::uint8_t protocol, PolicyRuleId reservation, std::string_view internal,
                       std::string_view external, std::chrono::seconds lifetime);
};

/// Policy rule lifetime change (5.3.5, figure 26); lifetime 0 deletes the rule.
struct PlcRequest {
  static constexpr MessageType kType = detail::request(SubType::kPlc);
  PolicyRuleId pid;
  Lifetime lifetime;
  static constexpr auto kAttributes = std::tuple{&PlcRequest::pid, &PlcRequest::lifetime};
};

/// Policy rule status (5.3.6, figure 27).
struct PrsRequest {
  static constexpr MessageType kType = detail::request(SubType::kPrs);
  PolicyRuleId pid;
  static constexpr auto kAttributes = std::tuple{&PrsRequest::pid};
};

/// Policy rule list (5.3.7, figure 28).
struct PrlRequest {
  static constexpr MessageType kType = detail::request(SubType::kPrl);
  static constexpr auto kAttributes = std::tuple{};
};

/// Policy disable rule (5.3.8, figure 29).
struct PdrRequest {
  static constexpr MessageType kType = detail::request(SubType::kPdr);
  AddressTuple internal;
  AddressTuple external{.location = Location::kExternal};
  Lifetime lifetime;
  static constexpr auto kAttributes =
      std::tuple{&PdrRequest::internal, &PdrRequest::external, &PdrRequest::lifetime};

  /// A request for UDP.
  static PdrRequest udp(std::string_view internal, std::string_view external,
                        std::chrono::seconds lifetime) {
    return of(kProtocolUdp, internal, external, lifetime);
  }
  /// A request for TCP.
  static PdrRequest tcp(std::string_view internal, std::string_view external,
                        std::chrono::seconds lifetime) {
    return of(kProtocolTcp, internal, external, lifetime);
  }
  /// A request for any protocol (kProtocolAny: all of them).
  static PdrRequest of(std::uint8_t protocol, std::string_view internal, std::string_view external,
                       std::chrono::seconds lifetime);
};

// --- Session control: replies ------------------------------------------------------------------

/// SE positive reply (5.2.2, figure 18): the session is OPEN.
struct SeReply {
  static constexpr MessageType kType = detail::positive(SubType::kSe);
  Capabilities capabilities;
  static constexpr auto kAttributes = std::tuple{&SeReply::capabilities};
};

/// SA positive reply (5.2.3, figure 19); at least one of the attributes is present.
struct SaReply {
  static constexpr MessageType kType = detail::positive(SubType::kSa);
  std::optional<Challenge> challenge;  ///< asks the agent to authenticate itself
  std::optional<Token> token;          ///< answers the agent's challenge; empty: it cannot
  static constexpr auto kAttributes = std::tuple{&SaReply::challenge, &SaReply::token};
};

/// ST positive reply (5.2.5, figure 21).
struct StReply {
  static constexpr MessageType kType = detail::positive(SubType::kSt);
  static constexpr auto kAttributes = std::tuple{};
};

// --- Policy rule control: replies --------------------------------------------------------------

/// PRR positive reply (5.3.9, figure 30); `inside` on a twice NAT only.
struct PrrReply {
  static constexpr MessageType kType = detail::positive(SubType::kPrr);
  PolicyRuleId pid;
  GroupId group;
  Lifetime lifetime;
  AddressTuple outside;
  std::optional<AddressTuple> inside;
  static constexpr auto kAttributes = std::tuple{
      &PrrReply::pid, &PrrReply::group, &PrrReply::lifetime, &PrrReply::outside, &PrrReply::inside};
};

/// PER positive reply (5.3.10, figure 31), to PER and PEA; a traditional NAT omits `inside`
/// (8.3.3).
struct PerReply {
  static constexpr MessageType kType = detail::positive(SubType::kPer);
  PolicyRuleId pid;
  GroupId group;
  Lifetime lifetime;
  AddressTuple outside;
  std::optional<AddressTuple> inside;
  static constexpr auto kAttributes = std::tuple{
      &PerReply::pid, &PerReply::group, &PerReply::lifetime, &PerReply::outside, &PerReply::inside};
};

/// PLC positive reply (5.3.11, figure 32): the lifetime granted.
struct PlcReply {
  static constexpr MessageType kType = detail::positive(SubType::kPlc);
  Lifetime lifetime;
  static constexpr auto kAttributes = std::tuple{&PlcReply::lifetime};
};

/// PRD positive reply (5.3.12, figure 33): a PLC deleted the rule.
struct PrdReply {
  static constexpr MessageType kType = detail::positive(SubType::kPrd);
  static constexpr auto kAttributes = std::tuple{};
};

/// PRS positive reply (5.3.13, figure 34): status of a reservation.
struct PrsReply {
  static constexpr MessageType kType = detail::positive(SubType::kPrs);
  PolicyRuleId pid;
  GroupId group;
  Lifetime lifetime;
  AddressTuple outside;
  std::optional<AddressTuple> inside;
  Owner owner;
  static constexpr auto kAttributes =
      std::tuple{&PrsReply::pid,     &PrsReply::group,  &PrsReply::lifetime,
                 &PrsReply::outside, &PrsReply::inside, &PrsReply::owner};
};

/// PES positive reply (5.3.14, figure 35): status of an enable rule.
struct PesReply {
  static constexpr MessageType kType = detail::positive(SubType::kPes);
  PolicyRuleId pid;
  GroupId group;
  PerParameterSet parameters;
  AddressTuple internal;
  AddressTuple inside;
  AddressTuple outside;
  AddressTuple external;
  Lifetime lifetime;
  Owner owner;
  static constexpr auto kAttributes =
      std::tuple{&PesReply::pid,      &PesReply::group,    &PesReply::parameters,
                 &PesReply::internal, &PesReply::inside,   &PesReply::outside,
                 &PesReply::external, &PesReply::lifetime, &PesReply::owner};
};

/// PDS positive reply (5.3.15, figure 36): status of a disable rule.
struct PdsReply {
  static constexpr MessageType kType = detail::positive(SubType::kPds);
  PolicyRuleId pid;
  AddressTuple internal;
  AddressTuple external;
  Lifetime lifetime;
  Owner owner;
  static constexpr auto kAttributes =
      std::tuple{&PdsReply::pid, &PdsReply::internal, &PdsReply::external, &PdsReply::lifetime,
                 &PdsReply::owner};
};

/// PRL positive reply (5.3.16, figure 37): at most kRuleListMax PIDs, in no order. The only message
/// whose decoding allocates.
struct PrlReply {
  static constexpr MessageType kType = detail::positive(SubType::kPrl);
  std::vector<PolicyRuleId> pids;
  static constexpr auto kAttributes = std::tuple{&PrlReply::pids};
};

/// PDR positive reply (5.3.17, figure 38).
struct PdrReply {
  static constexpr MessageType kType = detail::positive(SubType::kPdr);
  PolicyRuleId pid;
  Lifetime lifetime;
  static constexpr auto kAttributes = std::tuple{&PdrReply::pid, &PdrReply::lifetime};
};

/// Any negative reply (5.1.2, 5.2.6, 5.3.18; figures 16, 22, 39). `version` is there exactly when
/// the code is kVersionMismatch.
struct NegativeReply {
  NegativeReplyCode code = NegativeReplyCode::kBadlyFormedRequest;
  std::optional<ProtocolVersion> version;
  friend bool operator==(const NegativeReply&, const NegativeReply&) = default;
};

// --- Notifications -----------------------------------------------------------------------------

/// Badly formed message (5.1.1, figure 15).
struct BfmNotification {
  static constexpr MessageType kType = detail::notification(NotificationType::kBfm);
  static constexpr auto kAttributes = std::tuple{};
};

/// Asynchronous session termination (5.2.7).
struct AstNotification {
  static constexpr MessageType kType = detail::notification(NotificationType::kAst);
  static constexpr auto kAttributes = std::tuple{};
};

/// Asynchronous policy rule event (5.3.19, figure 40); lifetime 0: the rule is gone.
struct AreNotification {
  static constexpr MessageType kType = detail::notification(NotificationType::kAre);
  PolicyRuleId pid;
  Lifetime lifetime;
  static constexpr auto kAttributes = std::tuple{&AreNotification::pid, &AreNotification::lifetime};
};

/// Messages with a table of attributes are equal when all of these are.
template <class M>
  requires requires { M::kAttributes; }
constexpr bool operator==(const M& left, const M& right) {
  return std::apply([&](auto... member) { return ((left.*member == right.*member) && ...); },
                    M::kAttributes);
}

// --- All of them -------------------------------------------------------------------------------

/// Each kind of message that RFC 4540 defines.
using AnyBody =
    std::variant<SeRequest, SaRequest, StRequest, PrrRequest, PerRequest, PeaRequest, PdrRequest,
                 PlcRequest, PrsRequest, PrlRequest, SeReply, SaReply, StReply, PrrReply, PerReply,
                 PlcReply, PrdReply, PrsReply, PesReply, PdsReply, PrlReply, PdrReply,
                 NegativeReply, BfmNotification, AstNotification, AreNotification>;

namespace detail {
template <class T, class Variant>
inline constexpr bool kIsOneOf = false;
template <class T, class... Kinds>
inline constexpr bool kIsOneOf<T, std::variant<Kinds...>> = (std::is_same_v<T, Kinds> || ...);
}  // namespace detail

/// The content of a message, without its TID. Copies, moves and comparisons of the variant are
/// compiled once, in codec.cpp: in each file that handles a message they are a fifth of its build.
struct Body : AnyBody {
  template <class T>
    requires detail::kIsOneOf<std::remove_cvref_t<T>, AnyBody>
  Body(T&& message)  // implicit: each kind of message is a body
      : AnyBody(std::in_place_type<std::remove_cvref_t<T>>, std::forward<T>(message)) {}
  Body();
  Body(const Body&);
  Body(Body&&) noexcept;
  Body& operator=(const Body&);
  Body& operator=(Body&&) noexcept;
  ~Body();
  friend bool operator==(const Body&, const Body&);
};

/// A SIMCO message. Challenge, token and owner inside borrow their octets, see OctetsView.
struct Message {
  TransactionId tid;
  Body body;
  friend bool operator==(const Message&, const Message&) = default;
};

/// Type of `body` as it stands in the header (4.2).
MessageType type_of(const Body& body);

/// Returns the RFC's abbreviation of a message type, such as "PER request", or "undefined".
const char* name_of(MessageType type);

}  // namespace simco
