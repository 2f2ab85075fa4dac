// Packets that belong to no connection, judged octet by octet.
#include <gtest/gtest.h>

#include <random>

#include "simco/net/quic/gate.hpp"
#include "simco/net/quic/limits.hpp"
#include "tests/support/octets.hpp"

namespace simco::net::quic {
namespace {

using test::Octets;

constexpr Secret kSecret{std::byte{1}, std::byte{2}};
const boost::asio::ip::udp::endpoint kPeer(boost::asio::ip::make_address("192.0.2.1"), 4444);
constexpr Time kNow = std::chrono::seconds(100);

/// A first packet (RFC 9000 17.2.2) as far as anyone can see without keys.
Octets initial(std::string_view version = "00000001", const Octets& token = {},
               std::size_t size = kPacketSize) {
  auto octets = test::from_hex("c0" + std::string(version) + "08 0102030405060708 04 a1a2a3a4");
  octets.push_back(std::byte(0x40 | (token.size() >> 8)));
  octets.push_back(std::byte(token.size() & 0xFF));
  octets.insert(octets.end(), token.begin(), token.end());
  const auto rest = size - octets.size() - 2;
  octets.push_back(std::byte(0x40 | (rest >> 8)));
  octets.push_back(std::byte(rest & 0xFF));
  octets.resize(size, std::byte{0x77});
  return octets;
}

Gate::Verdict judge(const Octets& packet, bool proof = false, Time now = kNow) {
  return Gate(kSecret, kSecret).judge(packet, kPeer, proof, now);
}

/// The token of a Retry (17.2.5): all between the identifiers and the last 16 octets.
Octets token_of(const Gate::Answer& retry) {
  const std::size_t header = 1 + 4 + 1 + 4 + 1 + kIdSize;
  return {retry.begin() + header, retry.end() - 16};
}
/// The same first packet again, to where the Retry wants it.
Octets retried(const Gate::Answer& retry) {
  auto packet = initial("00000001", token_of(retry), kPacketSize + 4);
  packet[5] = std::byte{kIdSize};
  packet.erase(packet.begin() + 6, packet.begin() + 14);
  packet.insert(packet.begin() + 6, retry.begin() + 11, retry.begin() + 11 + kIdSize);
  packet.resize(packet.size() - 4);
  // The length of the rest is four less.
  return packet;
}

TEST(QuicGate, AFirstPacketIsWelcome) {
  const auto verdict = judge(initial());
  const auto* admission = std::get_if<Gate::Admission>(&verdict);
  ASSERT_NE(admission, nullptr);
  EXPECT_EQ(admission->peer, "\xa1\xa2\xa3\xa4");
  EXPECT_EQ(admission->destination, "\x01\x02\x03\x04\x05\x06\x07\x08");
  EXPECT_EQ(admission->original, admission->destination);
  EXPECT_TRUE(admission->token.empty());
}

TEST(QuicGate, ShortFirstPacketsAreNotAnswered) {
  // They could make us send more than has come (RFC 9000 14.1).
  EXPECT_EQ(judge(initial("00000001", {}, 1199)).index(), 0U);
  EXPECT_EQ(judge(initial("0a0a0a0a", {}, 1199)).index(), 0U);
}

TEST(QuicGate, OtherVersionsAreToldOurs) {
  for (const auto* version : {"0a0a0a0a", "6b3343cf", "ff00001d"}) {
    const auto verdict = judge(initial(version));
    const auto* answer = std::get_if<Gate::Answer>(&verdict);
    ASSERT_NE(answer, nullptr) << version;
    // RFC 9000 17.2.1: version 0, the identifiers the other way round, then our versions.
    EXPECT_NE((*answer)[0] & std::byte{0x80}, std::byte{0});
    EXPECT_EQ(Octets(answer->begin() + 1, answer->end()),
              test::from_hex("00000000 04 a1a2a3a4 08 0102030405060708 00000001"));
  }
}

TEST(QuicGate, AnAddressProvesItselfByATokenOfItsOwn) {
  const auto verdict = judge(initial(), true);
  const auto* retry = std::get_if<Gate::Answer>(&verdict);
  ASSERT_NE(retry, nullptr);
  EXPECT_EQ((*retry)[0] & std::byte{0xF0}, std::byte{0xF0});
  const auto again = retried(*retry);
  const auto second = judge(again, true);
  const auto* admission = std::get_if<Gate::Admission>(&second);
  ASSERT_NE(admission, nullptr);
  EXPECT_EQ(Octets(std::as_bytes(std::span(admission->token)).begin(),
                   std::as_bytes(std::span(admission->token)).end()),
            token_of(*retry));
  EXPECT_EQ(admission->original, "\x01\x02\x03\x04\x05\x06\x07\x08");
  // Not of another address, not later, not of another program. It would not hear a second Retry, so
  // it is told that this is the end, whether or not others need a token at the moment.
  const boost::asio::ip::udp::endpoint other(kPeer.address(), 4445);
  for (const bool proof : {false, true}) {
    for (const auto& refusal : {Gate(kSecret, kSecret).judge(again, other, proof, kNow),
                                judge(again, proof, kNow + kRetryTimeout + std::chrono::seconds(1)),
                                Gate(kSecret, {}).judge(again, kPeer, proof, kNow)}) {
      const auto* close = std::get_if<Gate::Answer>(&refusal);
      ASSERT_NE(close, nullptr);
      EXPECT_EQ((*close)[0] & std::byte{0xF0}, std::byte{0xC0}) << "an Initial";
    }
  }
}

// A reload gives listeners another private key. Later tokens must be valid in the next process, and
// a peer that has just got a token must still get in.
TEST(QuicGate, ARenewedSecretIsThatOfResetsOnly) {
  const Secret renewed{std::byte{9}};
  Gate gate(kSecret, kSecret);
  const auto verdict = gate.judge(initial(), kPeer, true, kNow);
  const auto before = gate.reset_token("abc");
  gate.renew(renewed);
  EXPECT_EQ(gate.reset_token("abc"), Gate(renewed, {}).reset_token("abc"));
  EXPECT_NE(gate.reset_token("abc"), before);
  const auto second = gate.judge(retried(std::get<Gate::Answer>(verdict)), kPeer, true, kNow);
  EXPECT_NE(std::get_if<Gate::Admission>(&second), nullptr);
}

TEST(QuicGate, StatelessResetsAreShorterThanTheirCause) {
  for (const std::size_t size : {1UZ, kResetMin, kResetMin + 1, 43UZ, 44UZ, 1200UZ}) {
    Octets packet(size, std::byte{0x41});
    const auto verdict = judge(packet);
    const auto* answer = std::get_if<Gate::Answer>(&verdict);
    EXPECT_EQ(answer != nullptr, size > kResetMin) << size;
    if (answer == nullptr) continue;
    EXPECT_LT(answer->size(), size);
    EXPECT_EQ((*answer)[0] & std::byte{0xC0}, std::byte{0x40});
    const auto token = Gate(kSecret, kSecret).reset_token(std::string(kIdSize, '\x41'));
    EXPECT_TRUE(
        std::ranges::equal(std::as_bytes(std::span(token)), std::span(*answer).last(token.size())));
  }
}

// Otherwise an attacker who sees an identifier could ask another listener for its token.
TEST(QuicGate, EachListenerHasASecretOfItsOwn) {
  using boost::asio::ip::make_address;
  const auto one = secret_at(kSecret, {make_address("192.0.2.1"), 7626});
  EXPECT_EQ(one, secret_at(kSecret, {make_address("192.0.2.1"), 7626}));
  EXPECT_NE(one, secret_at(kSecret, {make_address("192.0.2.1"), 7627}));
  EXPECT_NE(one, secret_at(kSecret, {make_address("192.0.2.2"), 7626}));
  EXPECT_NE(Gate(one, {}).reset_token("abc"), Gate(kSecret, kSecret).reset_token("abc"));
}

TEST(QuicGate, NothingIsAnsweredWithMoreThanThreeTimesItself) {
  std::mt19937 random(1);
  const Gate gate(kSecret, kSecret);
  EXPECT_EQ(gate.judge({}, kPeer, false, kNow).index(), 0U);
  const auto base = initial();
  for (int i = 0; i < 200'000; ++i) {
    Octets packet(random() % 3 == 0 ? random() % 64 : random() % 1500);
    for (auto& octet : packet) octet = std::byte(random());
    if (random() % 2 == 0) {
      packet = base;
      for (int n = 0; n < 3; ++n) packet[random() % 32] = std::byte(random());
    }
    const auto verdict = gate.judge(packet, kPeer, random() % 2 == 0, kNow);
    if (const auto* answer = std::get_if<Gate::Answer>(&verdict)) {
      ASSERT_LE(answer->size(), 3 * packet.size());
    }
    const auto destination = destination_of(packet);
    ASSERT_TRUE(!destination || destination->size() <= 20);
  }
}

}  // namespace
}  // namespace simco::net::quic
