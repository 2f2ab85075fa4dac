// A middlebox's session, and a host that records its calls.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "simco/session/middlebox_session.hpp"
#include "tests/support/octets.hpp"

namespace simco::test {

/// Records a session's calls; requests stay undecided until the test answers them.
class RecordingHost final : public MiddleboxSession::Host {
 public:
  void send(TransactionId tid, const Body& body) override { sent.push_back(encoded({tid, body})); }
  void execute(TransactionId tid, const Body&) override { executing.push_back(tid); }
  bool has_room() override { return room; }
  MiddleboxSession::Admission admit(bool challenged) override {
    challenged_by_agent = challenged;
    return admission;
  }
  ChallengeOctets make_challenge() override {
    ChallengeOctets challenge;
    challenge.fill(std::byte{7});
    return challenge;
  }
  std::vector<std::byte> answer_challenge(std::span<const std::byte> challenge) override {
    return secret.empty() ? std::vector<std::byte>{} : make_middlebox_token(secret, challenge);
  }
  MiddleboxSession::AuthResult verify(const std::optional<ChallengeOctets>& challenge,
                                      const std::optional<Token>& token) override {
    asked = challenge;
    shown = token ? std::optional(std::string(token->text())) : std::nullopt;
    ++verifications;
    return auth_result;
  }
  Capabilities opened() override;
  void close() override { ++closings; }

  /// The messages sent since the last call, decoded.
  std::vector<Message> take() {
    octets = std::exchange(sent, {});
    std::vector<Message> messages;
    for (const auto& message : octets) messages.push_back(*decode(message));
    return messages;
  }

  std::vector<Octets> sent;
  std::vector<Octets> octets;
  std::vector<TransactionId> executing;
  bool room = true;
  bool challenged_by_agent = false;
  MiddleboxSession::Admission admission;
  MiddleboxSession::AuthResult auth_result;
  std::string secret;
  std::optional<ChallengeOctets> asked;
  std::optional<std::string> shown;
  int verifications = 0;
  int openings = 0;
  int closings = 0;
};

inline constexpr Instant kStart{};
inline constexpr std::uint16_t kSessionStreams = 4;  ///< of the association

inline Capabilities capabilities() {
  Capabilities result;
  result.packet_filter = true;
  result.lifetime_max_s = 3600;
  return result;
}

inline Capabilities RecordingHost::opened() {
  ++openings;
  return capabilities();
}

struct Fixture {
  RecordingHost host;
  MiddleboxSession session{{std::chrono::seconds(60), kSessionStreams}, host, kStart};

  void receive(const Message& message) { session.on_message(encoded(message)); }
  void receive(std::string_view hex) { session.on_message(from_hex(hex)); }

  /// Brings a fresh session into `state`.
  explicit Fixture(SessionState state = SessionState::kClosed) {
    if (state == SessionState::kOpen) receive({{1}, SeRequest{}});
    if (state == SessionState::kNoAuth) {
      receive({{1}, SeRequest{{3, 0}, Challenge{OctetsView::of("c")}}});
    }
    EXPECT_EQ(session.state(), state);
    host.take();
  }

  NegativeReplyCode refusal() {
    const auto messages = host.take();
    EXPECT_EQ(messages.size(), 1U);
    if (messages.empty()) return {};
    EXPECT_TRUE(std::holds_alternative<NegativeReply>(messages[0].body));
    const auto* refused = std::get_if<NegativeReply>(&messages[0].body);
    return refused == nullptr ? NegativeReplyCode{} : refused->code;
  }
};

template <class T>
bool is(const Message& message) {
  return std::holds_alternative<T>(message.body);
}

}  // namespace simco::test
