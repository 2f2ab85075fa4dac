#include "loadgen/per/per_client.hpp"

#include "agent/error.hpp"
#include "simco/binding/send.hpp"

namespace simco::loadgen {
namespace {

constexpr std::uint32_t kLifetimeS = 120;
constexpr std::uint16_t kFirstPort = 16384;  // where RTP usually lives
constexpr std::uint64_t kPortPairs = 8192;

AddressTuple rtp_and_rtcp(Location location, std::uint8_t network, std::uint64_t host,
                          std::uint64_t pair) {
  AddressTuple tuple;
  tuple.protocol = kProtocolUdp;
  tuple.location = location;
  tuple.port = static_cast<std::uint16_t>(kFirstPort + 2 * pair);
  tuple.port_range = 2;
  tuple.address[0] = std::byte{198};
  tuple.address[1] = std::byte{network};
  tuple.address[2] = static_cast<std::byte>(host >> 8);
  tuple.address[3] = static_cast<std::byte>(host);
  return tuple;
}

}  // namespace

PerRequest call_pinhole(std::uint64_t index) {
  const std::uint64_t pair = index % kPortPairs;
  const std::uint64_t host = (index / kPortPairs) & 0xFFFF;
  PerRequest request;
  request.parameters = {PortParity::kSame, Direction::kBidirectional};
  request.internal = rtp_and_rtcp(Location::kInternal, 18, host, pair);
  request.external = rtp_and_rtcp(Location::kExternal, 19, host, pair);
  request.lifetime = {kLifetimeS};
  return request;
}

std::optional<Client::Sent> PerClient::send(std::uint64_t index) {
  const auto tid = link_.request(call_pinhole(index));
  if (!tid) return std::nullopt;
  return Sent{{tid->value}, stream_of(*tid, *link_.channel())};
}

void PerClient::finish() {
  finishing_ = true;
  if (deletions_.empty()) link_.close();
}

void PerClient::on_open(const Capabilities&) { observer_.on_ready(*this); }

void PerClient::on_reply(TransactionId tid, const Body& body) {
  const auto* refused = std::get_if<NegativeReply>(&body);
  if (deletions_.erase(tid) != 0) {
    ++(refused == nullptr ? deleted_.done : deleted_.refused);
    if (finishing_ && deletions_.empty()) link_.close();
    return;
  }
  if (const auto* per = std::get_if<PerReply>(&body); per != nullptr && options_.rules_max != 0) {
    live_.push_back({per->pid, tid});
    if (live_.size() > options_.rules_max) delete_oldest();
  }
  if (refused == nullptr) return observer_.on_ended(*this, {tid.value}, {});
  const RefusalCode code{static_cast<std::uint32_t>(refused->code)};
  observer_.on_ended(*this, {tid.value}, {Outcome::kRefused, code});
}

void PerClient::delete_oldest() {
  const LiveRule oldest = live_.front();
  const auto tid = link_.request(PlcRequest{oldest.pid, Lifetime{0}}, oldest.creating_tid);
  if (!tid) return;  // no room now: the next reply tries again
  live_.pop_front();
  deletions_.insert(*tid);
}

void PerClient::on_rule_event(PolicyRuleId, Lifetime) {}

void PerClient::on_down(const boost::system::error_code& reason) {
  const bool wanted = reason == agent::AgentError::kTerminated;
  observer_.on_down(*this, wanted ? boost::system::error_code{} : reason);
}

}  // namespace simco::loadgen
