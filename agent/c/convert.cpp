// Conversions between the structures of simco/agent.h and the library's own types. Values from C
// are checked; invalid values yield no request.
#include "agent/c/convert.hpp"

#include <concepts>
#include <cstring>

#include "agent/error.hpp"
#include "simco/wire/limits.hpp"

namespace simco::agent::c {
namespace {

constexpr int kNegativeReply = 0x0300;  // basic type 0x03 in front of the sub-type

// The C errors are the C++ ones, negative.
static_assert(SIMCO_ERR_NOT_OPEN == -static_cast<int>(AgentError::kNotOpen));
static_assert(SIMCO_ERR_TIDS_EXHAUSTED == -static_cast<int>(AgentError::kTidsExhausted));

/// 4 or 6, as the RFC has it.
std::optional<IpVersion> version_of(int number) {
  if (number == 4) return IpVersion::kIpv4;
  if (number == 6) return IpVersion::kIpv6;
  return std::nullopt;
}

std::optional<RequestedIpVersion> requested_version_of(int number) {
  if (number == 0) return RequestedIpVersion::kAny;
  if (number == 4) return RequestedIpVersion::kIpv4;
  if (number == 6) return RequestedIpVersion::kIpv6;
  return std::nullopt;
}

std::optional<GroupId> group_of(std::uint32_t group) {
  return group == 0 ? std::nullopt : std::optional(GroupId{group});
}

std::optional<PerParameterSet> parameters_of(const simco_request& request) {
  if (request.direction < SIMCO_INBOUND || request.direction > SIMCO_BIDIRECTIONAL) {
    return std::nullopt;
  }
  return PerParameterSet{request.same_parity != 0 ? PortParity::kSame : PortParity::kAny,
                         static_cast<Direction>(request.direction)};
}

std::optional<Request> reserve(const simco_request& request) {
  const auto inside = requested_version_of(request.inside_version);
  const auto outside = requested_version_of(request.outside_version);
  if (!inside || !outside || request.parity > SIMCO_PARITY_EVEN) return std::nullopt;
  PrrRequest prr;
  prr.parameters = {request.twice_nat != 0 ? NatMode::kTwice : NatMode::kTraditional,
                    static_cast<ReservedParity>(request.parity),
                    *inside,
                    *outside,
                    request.protocol,
                    request.port_range};
  prr.lifetime = {request.lifetime};
  prr.group = group_of(request.group);
  return Request{prr, std::nullopt};
}

/// PER, PEA and PDR: those that name both ends.
std::optional<Request> with_tuples(const simco_request& request) {
  const auto internal = from_c(request.internal), external = from_c(request.external);
  if (!internal || !external) return std::nullopt;
  const Lifetime lifetime{request.lifetime};
  if (request.type == SIMCO_DISABLE) {
    return Request{PdrRequest{*internal, *external, lifetime}, std::nullopt};
  }
  const auto parameters = parameters_of(request);
  if (!parameters) return std::nullopt;
  if (request.type == SIMCO_ENABLE) {
    return Request{PerRequest{*parameters, *internal, *external, lifetime, group_of(request.group)},
                   std::nullopt};
  }
  const PolicyRuleId pid{request.pid};
  return Request{PeaRequest{*parameters, *internal, *external, lifetime, pid}, pid};
}

/// Whether the message is a positive reply to a policy rule request.
template <class Message>
constexpr bool kPositive = std::same_as<Message, PrrReply> || std::same_as<Message, PerReply> ||
                           std::same_as<Message, PdrReply> || std::same_as<Message, PlcReply> ||
                           std::same_as<Message, PrlReply> || std::same_as<Message, PrsReply> ||
                           std::same_as<Message, PesReply> || std::same_as<Message, PdsReply>;

std::string text_of(const char* octets, std::size_t size) { return std::string(octets, size); }

}  // namespace

int error_value(const boost::system::error_code& error) {
  if (!error) return SIMCO_OK;
  if (error.category() == agent_category()) return -error.value();
  if (error.category() == reply_category()) return kNegativeReply | error.value();
  if (error == boost::system::errc::not_enough_memory) return SIMCO_ERR_NO_MEMORY;
  return SIMCO_ERR_CONNECT;
}

// --- Values --------------------------------------------------------------------------------------

simco_tuple to_c(const AddressTuple& tuple) {
  simco_tuple result{};
  result.protocols_only = tuple.form == AddressForm::kProtocolsOnly ? 1 : 0;
  if (tuple.ip_version == IpVersion::kIpv4) result.ip_version = 4;
  if (tuple.ip_version == IpVersion::kIpv6) result.ip_version = 6;
  result.prefix_length = tuple.prefix_length;
  result.protocol = tuple.protocol;
  result.location = static_cast<std::uint8_t>(tuple.location);
  result.port = tuple.port;
  result.port_range = tuple.port_range;
  std::memcpy(result.address, tuple.address.data(), tuple.address.size());
  return result;
}

std::optional<AddressTuple> from_c(const simco_tuple& tuple) {
  const auto version = version_of(tuple.ip_version);
  if (!version || tuple.location > SIMCO_EXTERNAL || tuple.protocols_only > 1) return std::nullopt;
  AddressTuple result;
  result.form = tuple.protocols_only != 0 ? AddressForm::kProtocolsOnly : AddressForm::kFullAddress;
  result.ip_version = *version;
  result.prefix_length = tuple.prefix_length;
  result.protocol = tuple.protocol;
  result.location = static_cast<Location>(tuple.location);
  if (result.form == AddressForm::kProtocolsOnly) return result;
  result.port = tuple.port;
  result.port_range = tuple.port_range;
  const std::size_t size = *version == IpVersion::kIpv4 ? 4 : 16;
  std::memcpy(result.address.data(), tuple.address, size);
  return result;
}

simco_capabilities to_c(const Capabilities& from) {
  simco_capabilities result{};
  result.packet_filter = from.packet_filter;
  result.nat = from.nat;
  result.disable_rules = from.disable_rules;
  result.port_translation = from.port_translation;
  result.protocol_translation = from.protocol_translation;
  result.twice_nat = from.twice_nat;
  result.internal_wildcards = from.internal_wildcards;
  result.external_wildcards = from.external_wildcards;
  result.port_wildcards = from.port_wildcards;
  result.persistent = from.persistent;
  result.internal_versions = from.internal_versions;
  result.external_versions = from.external_versions;
  result.lifetime_max = from.lifetime_max_s;
  return result;
}

simco_loss to_c(RuleLoss loss) {
  switch (loss) {
    case RuleLoss::kEnded: return SIMCO_LOSS_ENDED;
    case RuleLoss::kExpired: return SIMCO_LOSS_EXPIRED;
    case RuleLoss::kNotOurs: return SIMCO_LOSS_NOT_OURS;
  }
  return SIMCO_LOSS_ENDED;
}

simco_event to_c(const RuleEvent& event) {
  return {event.pid.value, event.lifetime.seconds, event.lost};
}

std::optional<Request> from_c(const simco_request& request) {
  const PolicyRuleId pid{request.pid};
  switch (request.type) {
    case SIMCO_RESERVE: return reserve(request);
    case SIMCO_ENABLE:
    case SIMCO_ENABLE_RESERVED:
    case SIMCO_DISABLE: return with_tuples(request);
    case SIMCO_CHANGE_LIFETIME: return Request{PlcRequest{pid, {request.lifetime}}, pid};
    case SIMCO_STATUS: return Request{PrsRequest{pid}, pid};
    case SIMCO_LIST: return Request{PrlRequest{}, std::nullopt};
  }
  return std::nullopt;
}

std::optional<AgentSession::Authentication> authentication_of(const simco_agent_config& config) {
  AgentSession::Authentication result;
  if ((config.name == nullptr) != (config.secret == nullptr)) return std::nullopt;
  if (config.name != nullptr) {
    if (std::strlen(config.name) > kOwnerSizeMax) return std::nullopt;
    result.credentials = {config.name, text_of(config.secret, config.secret_size)};
  }
  if (config.middlebox_secret != nullptr) {
    result.middlebox_secret = text_of(config.middlebox_secret, config.middlebox_secret_size);
  }
  return result;
}

// --- Replies -------------------------------------------------------------------------------------

Reply::Reply(const Body& body) {
  std::visit(
      [this]<class Any>(const Any& any) {
        if constexpr (kPositive<Any>) fill(any);
      },
      body);
}

const simco_tuple* Reply::keep(const AddressTuple& tuple) {
  // By its place in the reply: its location attribute is the middlebox's choice.
  auto& place = tuples_[kept_++];
  place = to_c(tuple);
  return &place;
}

template <class Positive>
void Reply::fill(const Positive& reply) {
  if constexpr (requires { reply.pid; }) reply_.pid = reply.pid.value;
  if constexpr (requires { reply.group; }) reply_.group = reply.group.value;
  if constexpr (requires { reply.lifetime; }) reply_.lifetime = reply.lifetime.seconds;
  if constexpr (requires { reply.outside; }) {
    reply_.outside = keep(reply.outside);
    reply_.inside = keep(reply.inside);
  }
  if constexpr (requires { reply.internal; }) {
    reply_.internal = keep(reply.internal);
    reply_.external = keep(reply.external);
  }
  if constexpr (requires { reply.parameters; }) {
    reply_.direction = static_cast<std::uint8_t>(reply.parameters.direction);
  }
  if constexpr (requires { reply.pids; }) {
    for (const auto pid : reply.pids) pids_.push_back(pid.value);
    reply_.pids = pids_.data();
    reply_.pid_count = pids_.size();
  }
  if constexpr (requires { reply.owner; }) {
    owner_ = reply.owner.text();
    reply_.owner = owner_.data();
    reply_.owner_size = owner_.size();
    reply_.kind = std::same_as<Positive, PrsReply>   ? SIMCO_RULE_RESERVED
                  : std::same_as<Positive, PesReply> ? SIMCO_RULE_ENABLED
                                                     : SIMCO_RULE_DISABLED;
  }
}

}  // namespace simco::agent::c
