// The whole middlebox without sockets and real time: agents that read slowly, or not.
#include "middlebox/core/core.hpp"

#include <gtest/gtest.h>

#include "middlebox/backend/null_backend.hpp"
#include "simco/binding/framer.hpp"
#include "simco/net/limits.hpp"
#include "tests/support/channel_handler.hpp"
#include "tests/support/figures.hpp"
#include "tests/support/memory_channel.hpp"
#include "tests/support/octets.hpp"
#include "tests/support/patience.hpp"

namespace simco::middlebox {
namespace {

using test::MemoryChannel;
using test::pinhole;

/// The middlebox in virtual time.
class Box final : private Core::Host, private Clock {
 public:
  Box() { core_.start(); }

  test::VirtualTime time;

  /// A connection to it; returns the agent's end.
  std::shared_ptr<MemoryChannel> connect() {
    auto [agent, own] = MemoryChannel::make_pair(time);
    core_.accept(own, Require::kNone);
    return agent;
  }
  std::size_t sessions() const { return core_.session_count(); }
  std::size_t rules() const { return core_.rule_count(); }

 private:
  Instant now() const override { return time.now(); }
  std::int64_t wall_ms() const override { return 0; }
  void wake_at(Instant at) override {
    time.at(at, [this, wish = ++wishes_] {
      if (wish == wishes_) core_.on_deadline();
    });
  }
  ChallengeOctets make_challenge() override { return {}; }
  void log(Core::LogLevel, const std::string&) override {}

  std::uint64_t wishes_ = 0;
  backend::NullBackend backend_;
  Core core_{{}, *this, backend_, nullptr, nullptr, *this};
};

/// An agent that keeps the messages that it gets.
class Peer {
 public:
  explicit Peer(Box& box) : box_(box), channel_(box.connect()) {
    channel_->start(heard_, {kMessageFramer, kMessageSizeMax});
    send({{1}, SeRequest{}});
    settle();
  }
  ~Peer() { channel_->detach(); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  void send(const Message& message) {
    const auto octets = test::encoded(message);
    const auto room = channel_->allocate(octets.size(), {}, ~std::size_t{0});
    std::ranges::copy(octets, room.begin());
    channel_->flush();
  }
  /// Lets the middlebox do all that it can do now.
  void settle() { box_.time.run_for(std::chrono::milliseconds(1)); }
  void stop_reading() { channel_->pause_input(); }
  void read() { channel_->resume_input(); }
  std::vector<test::Octets>& heard() { return heard_.messages; }
  Message last() const { return *decode(heard_.messages.back()); }
  bool at_end() const { return heard_.closed != 0; }

 private:
  Box& box_;
  std::shared_ptr<MemoryChannel> channel_;
  test::RecordingHandler heard_;
};

constexpr std::uint32_t kRules = 60'000;
// Their AREs are more than may be queued for a peer that does not read.
static_assert(kRules * 24 > net::kOutputQueueMax);

void make_rules(Peer& agent) {
  for (std::uint32_t i = 0; i < kRules; ++i) {
    agent.send({{10 + i}, pinhole(static_cast<std::uint16_t>(i + 1), test::kLongLifetimeS)});
    if (i % 1000 == 0) agent.settle();
  }
  agent.settle();
}

// 8.8.2: it hears of every rule, and 5.3.17: of the end of the last one by the reply.
TEST(Core, AnAgentThatReadsSlowlyHearsOfAllThatItsDisableRuleEnds) {
  Box box;
  Peer agent(box);
  make_rules(agent);
  ASSERT_EQ(box.rules(), kRules);
  agent.heard().clear();
  agent.stop_reading();
  const auto like = pinhole(1);
  agent.send(
      {{5},
       PdrRequest{test::protocols_only(Location::kInternal, kProtocolUdp), like.external, {600}}});
  agent.settle();
  EXPECT_GT(box.rules(), 1U) << "they wait for their agent";
  agent.read();
  agent.settle();
  ASSERT_EQ(agent.heard().size(), kRules + 1U);
  EXPECT_TRUE(std::holds_alternative<PdrReply>(agent.last().body));
  EXPECT_EQ(box.rules(), 1U);
  EXPECT_EQ(box.sessions(), 1U);
}

// 7.5: it can read the queued messages, and then the end of its session.
TEST(Core, WhoDoesNotReadIsCutOffAndFindsAstBehindItsMessages) {
  Box box;
  Peer agent(box);
  Peer deaf(box);
  deaf.heard().clear();
  deaf.stop_reading();
  make_rules(agent);
  deaf.read();
  deaf.settle();
  ASSERT_TRUE(deaf.at_end());
  // The octets that the path took in the first place, and the queue.
  EXPECT_GE(deaf.heard().size(), net::kOutputQueueMax / 24);
  EXPECT_LT(deaf.heard().size(), kRules);
  EXPECT_TRUE(std::holds_alternative<AstNotification>(deaf.last().body));
  EXPECT_EQ(box.sessions(), 1U);
}

}  // namespace
}  // namespace simco::middlebox
