// Negative replies of RFC 4540 section 4.2.3 and their texts for a log or a terminal.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

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

/// Every defined code, in the RFC's order.
inline constexpr std::array kNegativeReplyCodes = {
    NegativeReplyCode::kWrongBasicType,
    NegativeReplyCode::kWrongSubType,
    NegativeReplyCode::kBadlyFormedRequest,
    NegativeReplyCode::kReplyTooBig,
    NegativeReplyCode::kNotApplicable,
    NegativeReplyCode::kLackOfResources,
    NegativeReplyCode::kVersionMismatch,
    NegativeReplyCode::kAuthenticationFailed,
    NegativeReplyCode::kNoAuthorization,
    NegativeReplyCode::kTransportProtocolProblem,
    NegativeReplyCode::kSecurityInsufficient,
    NegativeReplyCode::kTransactionNotSupported,
    NegativeReplyCode::kAgentNotAuthorized,
    NegativeReplyCode::kNoResources,
    NegativeReplyCode::kNoSuchRule,
    NegativeReplyCode::kNoSuchGroup,
    NegativeReplyCode::kRuleAccessDenied,
    NegativeReplyCode::kGroupAccessDenied,
    NegativeReplyCode::kAddressSpaceNotAvailable,
    NegativeReplyCode::kLackOfAddresses,
    NegativeReplyCode::kLackOfPorts,
    NegativeReplyCode::kConfigurationFailed,
    NegativeReplyCode::kInconsistentRequest,
    NegativeReplyCode::kWildcardingNotSupported,
    NegativeReplyCode::kProtocolMismatch,
    NegativeReplyCode::kNatModeNotSupported,
    NegativeReplyCode::kIpVersionMismatch,
    NegativeReplyCode::kConflict,
    NegativeReplyCode::kLifetimeChangeDenied,
    NegativeReplyCode::kLifetimeNotExtendable,
    NegativeReplyCode::kIllegalAddress,
    NegativeReplyCode::kProtocolNotSupported,
    NegativeReplyCode::kIllegalPort,
    NegativeReplyCode::kIllegalPortRange,
    NegativeReplyCode::kAlreadyEnabled,
    NegativeReplyCode::kParityMismatch,
};

/// The RFC's wording for `code` (4.2.3).
constexpr std::string_view to_string(NegativeReplyCode code) {
  switch (code) {
    using enum NegativeReplyCode;
    case kWrongBasicType: return "wrong basic request message type";
    case kWrongSubType: return "wrong request message sub-type";
    case kBadlyFormedRequest: return "badly formed request";
    case kReplyTooBig: return "reply message too big";
    case kNotApplicable: return "request not applicable";
    case kLackOfResources: return "lack of resources";
    case kVersionMismatch: return "protocol version mismatch";
    case kAuthenticationFailed: return "authentication failed";
    case kNoAuthorization: return "no authorization";
    case kTransportProtocolProblem: return "transport protocol problem";
    case kSecurityInsufficient: return "security of underlying protocol layers insufficient";
    case kTransactionNotSupported: return "transaction not supported";
    case kAgentNotAuthorized: return "agent not authorized for this transaction";
    case kNoResources: return "no resources available for this transaction";
    case kNoSuchRule: return "specified policy rule does not exist";
    case kNoSuchGroup: return "specified policy rule group does not exist";
    case kRuleAccessDenied: return "not authorized for accessing specified policy";
    case kGroupAccessDenied: return "not authorized for accessing specified group";
    case kAddressSpaceNotAvailable: return "requested address space not available";
    case kLackOfAddresses: return "lack of IP addresses";
    case kLackOfPorts: return "lack of port numbers";
    case kConfigurationFailed: return "middlebox configuration failed";
    case kInconsistentRequest: return "inconsistent request";
    case kWildcardingNotSupported: return "requested wildcarding not supported";
    case kProtocolMismatch: return "protocol type doesn't match";
    case kNatModeNotSupported: return "NAT mode not supported";
    case kIpVersionMismatch: return "IP version mismatch";
    case kConflict: return "conflict with existing rule";
    case kLifetimeChangeDenied: return "not authorized to change lifetime";
    case kLifetimeNotExtendable: return "lifetime can't be extended";
    case kIllegalAddress: return "illegal IP address";
    case kProtocolNotSupported: return "protocol type not supported";
    case kIllegalPort: return "illegal port number";
    case kIllegalPortRange: return "illegal number of subsequent ports";
    case kAlreadyEnabled: return "already enabled PID";
    case kParityMismatch: return "parity doesn't match";
  }
  return "undefined negative reply";
}

/// Returns the code for an octet of a message, or nullopt if 4.2.3 does not define it.
constexpr std::optional<NegativeReplyCode> negative_reply_code(std::uint8_t sub_type) {
  for (const auto code : kNegativeReplyCodes) {
    if (static_cast<std::uint8_t>(code) == sub_type) return code;
  }
  return std::nullopt;
}

}  // namespace simco
