// Declares the options of the sip workload and checks them against each other and the transport.
#include "loadgen/sip/sip_workload.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "simco/cli/options.hpp"
#include "simco/net/transport_type.hpp"

namespace simco::loadgen {
namespace {

/// --drain without the option, seconds.
constexpr double kDrainUsual_s = 2;

}  // namespace

void SipWorkload::declare(cli::Options& options) {
  options.choice("--response", response_,
                 "Response to wait for, 180 or 100 (a final one will do as well); none: only send",
                 {"100", "180", "none"});
  options.whole("--invite-size", invite_size_, "Size of an INVITE, octets", 1, sip::kMessageMax);
  options
      .whole("--large-every", large_every_,
             "Every so many INVITEs, one has --large-size octets instead", 1, sip::kLargeEveryMax)
      .default_text.clear();
  options.whole("--large-size", large_size_, "Size of those INVITEs, octets", 1, sip::kMessageMax);
  options.whole("--t1", t1_, "Timer T1 of RFC 3261, milliseconds", sip::kT1Min_ms, sip::kT1Max_ms);
  options
      .number("--drain", drain_s_,
              "With --response none: time for what is under way after the last INVITE, seconds", 0,
              sip::kDrainMax_s)
      .default_text = cli::number_text(kDrainUsual_s);
  options.flag("--large-over-udp", large_over_udp_,
               fmt::format("Send INVITEs of more than {} octets over a transport for which RFC "
                           "3261 forbids them",
                           sip::kUdpRequestMax));
}

SipResponse SipWorkload::response() const {
  if (response_ == "none") return SipResponse::kNone;
  return response_ == "100" ? SipResponse::kTrying : SipResponse::kRinging;
}

std::optional<std::string> SipWorkload::size_fault(const char* option, std::uint64_t size,
                                                   const net::TransportOptions& transport) const {
  const auto via = via_transport(transport);
  const auto least = sip::InviteWriter::size_min(via);
  if (size < least) {
    return fmt::format("{}: an INVITE over {} has at least {} octets, got {}", option, via, least,
                       size);
  }
  if (net::type_of(transport.transport).reliable) return std::nullopt;
  if (size > sip::kDatagramPayloadMax) {
    return fmt::format("{}: a datagram carries at most {} octets, got {}", option,
                       sip::kDatagramPayloadMax, size);
  }
  if (size > sip::kUdpRequestMax && !large_over_udp_) {
    return fmt::format("{} above {} requires --transport {} (RFC 3261 18.1.1) or --large-over-udp",
                       option, sip::kUdpRequestMax, net::transport_names(" or "));
  }
  return std::nullopt;
}

std::optional<std::string> SipWorkload::fault(const net::TransportOptions& transport) {
  if (response() == SipResponse::kNone && !net::type_of(transport.transport).reliable) {
    return fmt::format(
        "--response none requires --transport {}: over {} an INVITE is sent again until its "
        "response comes",
        net::transport_names(" or "), net::to_string(transport.transport));
  }
  if (drain_s_ && response() != SipResponse::kNone) return "--drain requires --response none";
  if ((large_every_ != 0) != large_size_.has_value()) {
    return "--large-every and --large-size require each other";
  }
  if (large_size_) {
    if (auto fault = size_fault("--large-size", *large_size_, transport)) return fault;
  }
  return size_fault("--invite-size", invite_size_, transport);
}

std::optional<double> SipWorkload::drain_s() const {
  if (response() != SipResponse::kNone) return std::nullopt;
  return drain_s_.value_or(kDrainUsual_s);
}

void SipWorkload::write_parameters(nlohmann::ordered_json& parameters, std::uint64_t seed) const {
  parameters["run"] = sip::run_text(sip::run_of(seed));
  parameters["response"] = response_;
  parameters["invite_size"] = invite_size_;
  parameters["large_every"] = large_every_;
  parameters["large_size"] = large_size_ ? nlohmann::ordered_json(*large_size_) : nullptr;
  parameters["t1"] = t1_.count();
  parameters["drain"] = drain_s() ? nlohmann::ordered_json(*drain_s()) : nullptr;
  parameters["large_over_udp"] = large_over_udp_;
}

std::unique_ptr<Client> SipWorkload::make_client(const boost::asio::any_io_executor& executor,
                                                 net::ReadBuffer& read_buffer,
                                                 const ConnectionOptions& options,
                                                 Client::Observer& observer) const {
  return std::make_unique<SipClient>(
      executor, read_buffer, options,
      SipClient::Options{invite_size_, large_every_, large_size_.value_or(invite_size_), response(),
                         t1_},
      observer);
}

RefusalText SipWorkload::describe(RefusalCode code) const {
  return {std::to_string(code.value), "the server answered with a final response"};
}

}  // namespace simco::loadgen
