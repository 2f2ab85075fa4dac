// Negative replies of RFC 4540 section 4.2.3 and their texts for a log or a terminal.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <ranges>
#include <string_view>
#include <utility>

namespace simco {

/// Sub-type of a negative reply (basic type 0x03), section 4.2.3.
enum class NegativeReplyCode : std::uint8_t {
  kWrongBasicType = 0x10,
  kWrongSubType = 0x11,
  kBadlyFormedRequest = 0x12,
  kReplyTooBig = 0x13,
  kNotApplicable = 0x20,
  kLackOfResources = 0x21,
  kVersionMismatch = 0x22,
  kAuthenticationFailed = 0x23,
  kNoAuthorization = 0x24,
  kTransportProtocolProblem = 0x25,
  kSecurityInsufficient = 0x26,
  kTransactionNotSupported = 0x40,
  kAgentNotAuthorized = 0x41,
  kNoResources = 0x42,
  kNoSuchRule = 0x43,
  kNoSuchGroup = 0x44,
  kRuleAccessDenied = 0x45,
  kGroupAccessDenied = 0x46,
  kAddressSpaceNotAvailable = 0x47,
  kLackOfAddresses = 0x48,
  kLackOfPorts = 0x49,
  kConfigurationFailed = 0x4A,
  kInconsistentRequest = 0x4B,
  kWildcardingNotSupported = 0x4C,
  kProtocolMismatch = 0x4D,
  kNatModeNotSupported = 0x4E,
  kIpVersionMismatch = 0x4F,
  kConflict = 0x50,
  kLifetimeChangeDenied = 0x51,
  kLifetimeNotExtendable = 0x52,
  kIllegalAddress = 0x53,
  kProtocolNotSupported = 0x54,
  kIllegalPort = 0x55,
  kIllegalPortRange = 0x56,
  kAlreadyEnabled = 0x57,
  kParityMismatch = 0x58,
};

namespace detail {
/// Every defined code, in the RFC's order, with its wording there (4.2.3).
inline constexpr auto kReplyTexts = [] {
  using enum NegativeReplyCode;
  return std::to_array<std::pair<NegativeReplyCode, std::string_view>>({
      {kWrongBasicType, "wrong basic request message type"},
      {kWrongSubType, "wrong request message sub-type"},
      {kBadlyFormedRequest, "badly formed request"},
      {kReplyTooBig, "reply message too big"},
      {kNotApplicable, "request not applicable"},
      {kLackOfResources, "lack of resources"},
      {kVersionMismatch, "protocol version mismatch"},
      {kAuthenticationFailed, "authentication failed"},
      {kNoAuthorization, "no authorization"},
      {kTransportProtocolProblem, "transport protocol problem"},
      {kSecurityInsufficient, "security of underlying protocol layers insufficient"},
      {kTransactionNotSupported, "transaction not supported"},
      {kAgentNotAuthorized, "agent not authorized for this transaction"},
      {kNoResources, "no resources available for this transaction"},
      {kNoSuchRule, "specified policy rule does not exist"},
      {kNoSuchGroup, "specified policy rule group does not exist"},
      {kRuleAccessDenied, "not authorized for accessing specified policy"},
      {kGroupAccessDenied, "not authorized for accessing specified group"},
      {kAddressSpaceNotAvailable, "requested address space not available"},
      {kLackOfAddresses, "lack of IP addresses"},
      {kLackOfPorts, "lack of port numbers"},
      {kConfigurationFailed, "middlebox configuration failed"},
      {kInconsistentRequest, "inconsistent request"},
      {kWildcardingNotSupported, "requested wildcarding not supported"},
      {kProtocolMismatch, "protocol type doesn't match"},
      {kNatModeNotSupported, "NAT mode not supported"},
      {kIpVersionMismatch, "IP version mismatch"},
      {kConflict, "conflict with existing rule"},
      {kLifetimeChangeDenied, "not authorized to change lifetime"},
      {kLifetimeNotExtendable, "lifetime can't be extended"},
      {kIllegalAddress, "illegal IP address"},
      {kProtocolNotSupported, "protocol type not supported"},
      {kIllegalPort, "illegal port number"},
      {kIllegalPortRange, "illegal number of subsequent ports"},
      {kAlreadyEnabled, "already enabled PID"},
      {kParityMismatch, "parity doesn't match"},
  });
}();
}  // namespace detail

/// Every defined code, in the RFC's order.
inline constexpr auto kNegativeReplyCodes = [] {
  std::array<NegativeReplyCode, detail::kReplyTexts.size()> codes{};
  std::ranges::copy(detail::kReplyTexts | std::views::keys, codes.begin());
  return codes;
}();

/// The RFC's wording for `code` (4.2.3).
constexpr std::string_view to_string(NegativeReplyCode code) {
  for (const auto& [defined, text] : detail::kReplyTexts) {
    if (defined == code) return text;
  }
  return "undefined negative reply";
}

/// Returns the code for an octet of a message, or nullopt if 4.2.3 does not define it.
constexpr std::optional<NegativeReplyCode> negative_reply_code(std::uint8_t sub_type) {
  const auto found =
      std::ranges::find(kNegativeReplyCodes, static_cast<NegativeReplyCode>(sub_type));
  return found == kNegativeReplyCodes.end() ? std::nullopt : std::optional(*found);
}

}  // namespace simco
