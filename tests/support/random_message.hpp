// Random valid messages of every type, made from the messages' own attribute tables.
#pragma once

#include <deque>
#include <random>
#include <string>
#include <tuple>
#include <utility>

#include "simco/wire/limits.hpp"
#include "simco/wire/messages.hpp"

namespace simco::test {

class RandomMessages {
 public:
  explicit RandomMessages(std::uint64_t seed) : random_(seed) {}

  /// Any message; its views are valid as long as this object.
  Message next() {
    storage_.clear();
    Message message{{static_cast<std::uint32_t>(random_())}, Body{}};
    pick(message.body, below(std::variant_size_v<AnyBody>),
         std::make_index_sequence<std::variant_size_v<AnyBody>>{});
    return message;
  }
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

 private:
  template <std::size_t... I>
  void pick(Body& body, std::uint64_t which, std::index_sequence<I...>) {
    ((which == I ? fill(body.emplace<I>()) : void()), ...);
  }

  template <class M>
  void fill(M& message) {
    std::apply([&](auto... member) { (fill(message.*member), ...); }, M::kAttributes);
  }
  void fill(SaReply& message) {
    fill(message.token.emplace());
    if (below(2) == 0) fill(message.challenge.emplace());
  }
  void fill(NegativeReply& message) {
    message.code = kNegativeReplyCodes[below(kNegativeReplyCodes.size())];
    if (message.code == NegativeReplyCode::kVersionMismatch) fill(message.version.emplace());
  }

  template <class T>
  void fill(std::optional<T>& value) {
    if (below(2) == 0) fill(value.emplace());
  }
  template <class Tag>
  void fill(StrongId<Tag>& id) {
    id.value = static_cast<std::uint32_t>(random_());
  }
  void fill(std::vector<PolicyRuleId>& pids) {
    // Mostly short, now and then the longest that fits.
    pids.resize(below(20) == 0 ? kRuleListMax : below(10));
    for (auto& pid : pids) fill(pid);
  }
  void fill(Lifetime& value) { value.seconds = static_cast<std::uint32_t>(random_()); }
  void fill(ProtocolVersion& value) {
    value = {static_cast<std::uint8_t>(random_()), static_cast<std::uint8_t>(random_())};
  }
  void fill(Challenge& value) { value.octets = octets(kAuthenticationSizeMax); }
  void fill(Token& value) { value.octets = octets(kAuthenticationSizeMax); }
  void fill(Owner& value) { value.octets = octets(kOwnerSizeMax); }
  void fill(Capabilities& value) {
    const auto flip = [&](bool& flag) { flag = below(2) == 0; };
    for (bool* flag :
         {&value.packet_filter, &value.nat, &value.disable_rules, &value.port_translation,
          &value.protocol_translation, &value.twice_nat, &value.internal_wildcards,
          &value.external_wildcards, &value.port_wildcards, &value.persistent}) {
      flip(*flag);
    }
    value.internal_versions = static_cast<std::uint8_t>(1 + below(3));
    value.external_versions = static_cast<std::uint8_t>(1 + below(3));
    value.lifetime_max_s = static_cast<std::uint32_t>(random_());
  }
  void fill(AddressTuple& value) {
    value.form = static_cast<AddressForm>(below(2));
    value.ip_version = static_cast<IpVersion>(1 + below(2));
    value.prefix_length = static_cast<std::uint8_t>(random_());
    value.protocol = static_cast<std::uint8_t>(random_());
    value.location = static_cast<Location>(below(4));
    if (value.form == AddressForm::kProtocolsOnly) return;
    value.port = static_cast<std::uint16_t>(random_());
    value.port_range = static_cast<std::uint16_t>(random_());
    for (std::size_t i = 0; i < address_bits(value.ip_version) / 8U; ++i) {
      value.address[i] = static_cast<std::byte>(random_());
    }
  }
  void fill(PrrParameterSet& value) {
    value.nat_mode = static_cast<NatMode>(1 + below(2));
    value.parity = static_cast<ReservedParity>(below(3));
    value.inside_version = static_cast<RequestedIpVersion>(below(3));
    value.outside_version = static_cast<RequestedIpVersion>(below(3));
    value.protocol = static_cast<std::uint8_t>(random_());
    value.port_range = static_cast<std::uint16_t>(random_());
  }
  void fill(PerParameterSet& value) {
    value.parity = below(2) == 0 ? PortParity::kAny : PortParity::kSame;
    value.direction = static_cast<Direction>(1 + below(3));
  }

  std::span<const std::byte> octets(std::size_t max) {
    std::string& text = storage_.emplace_back(below(8) == 0 ? max : below(20), '\0');
    for (char& c : text) c = static_cast<char>(random_());
    return std::as_bytes(std::span(text));
  }

  std::mt19937_64 random_;
  std::deque<std::string> storage_;
};

}  // namespace simco::test
