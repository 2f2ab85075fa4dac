// The time of a connection in a turn of the loop before others have theirs.
#include "middlebox/core/connection.hpp"

#include <gtest/gtest.h>

#include "middlebox/limits.hpp"
#include "tests/support/octets.hpp"
#include "tests/support/pipeline_fixture.hpp"

namespace simco::middlebox {
namespace {

/// Keeps its events.
class Channel final : public net::MessageChannel {
 public:
  void start(net::ChannelHandler& handler, const net::Framing&) override { user = &handler; }
  void detach() override { user = nullptr; }
  std::span<std::byte> allocate(std::size_t size, net::Delivery how, std::size_t) override {
    ++sent;
    delivery = how;
    out.resize(size);
    return out;
  }
  void flush() override {}
  std::size_t queued() const override { return waiting; }
  void pause_input() override {}
  void resume_input() override { ++resumed; }
  void set_hold_limit(std::size_t) override {}
  void close() override { ++closed; }
  net::Transport transport() const override { return net::Transport::kTcp; }
  std::uint16_t outbound_streams() const override { return 4; }
  std::uint16_t inbound_streams() const override { return 4; }
  std::string peer_address() const override { return "192.0.2.1"; }
  net::TransportStatistics statistics() const override { return {}; }

  net::ChannelHandler* user = nullptr;
  std::vector<std::byte> out;
  net::Delivery delivery;
  int sent = 0;
  int resumed = 0;
  int closed = 0;
  std::size_t waiting = 0;
};

class Owner final : public Connection::Owner, public AdmissionControl::Host {
 public:
  explicit Owner(policy::PolicyEngine& engine) : engine_(engine) {}

  void begin_turn() override { ++nested_; }
  void end_turn() override {
    if (--nested_ == 0) ++turns;
  }
  Instant now() const override { return Instant{std::chrono::hours(1)}; }
  bool turn_used_up() const override { return used_up; }
  bool has_room() const override { return true; }
  ChallengeOctets make_challenge() override { return {}; }
  rule::AgentId acquire(const std::string& name) override { return engine_.acquire(name); }
  std::string_view name_of(rule::AgentId agent) const override { return engine_.name(agent); }
  Capabilities session_opened(Connection& connection) override {
    return engine_.capabilities(connection.agent());
  }
  void session_refused(NegativeReplyCode) override {}
  void message_refused(const Connection&, NegativeReplyCode) override {}
  void warn_about(std::string_view, std::string_view) override {}
  void flush_later(Connection&) override {}
  void wake_at(Connection&, Instant) override {}
  void output_changed(std::ptrdiff_t octets) override { output += octets; }
  bool too_much_output() const override { return too_much; }
  void connection_over(Connection&) override {}
  std::size_t sessions_of(std::string_view) const override { return 0; }
  void on_authentication_failed(const Candidate&, std::string_view) override {}

  int turns = 0;
  std::ptrdiff_t output = 0;
  bool used_up = false;
  bool too_much = false;

 private:
  policy::PolicyEngine& engine_;
  int nested_ = 0;
};

struct Fixture {
  Fixture() {
    connection.start();
    deliver({{1}, SeRequest{}});
    channel->user->on_input_done({});
    owner.turns = 0;
    channel->sent = 0;
  }
  ~Fixture() {
    if (channel->user != nullptr) channel->user->on_closed({});
  }
  net::Flow deliver(const Message& message, std::uint16_t stream = 0) {
    return channel->user->on_message(test::encoded(message), {.stream = net::StreamId{stream}});
  }

  test::PipelineFixture box;
  Owner owner{box.engine};
  AdmissionControl admission{policy::AgentDirectory::open_to_all(), "", kAuthenticationPenalty,
                             owner};
  std::shared_ptr<Channel> channel = std::make_shared<Channel>();
  Connection connection{1, owner, admission, box.pipeline, channel, Require::kNone, {}};
};

TEST(Connection, LetsOthersHaveTheirTurnWhenItsOwnIsUsedUp) {
  Fixture f;
  EXPECT_EQ(f.deliver({{2}, PrlRequest{}}), net::Flow::kContinue);
  f.owner.used_up = true;
  // At once after a request that may have taken long, ...
  EXPECT_EQ(f.deliver({{3}, PrlRequest{}}), net::Flow::kPause);
  EXPECT_EQ(f.channel->sent, 2);
  f.channel->user->on_input_done({});
  EXPECT_EQ(f.owner.turns, 1);
  EXPECT_EQ(f.channel->resumed, 1);
  // ... and soon after others.
  std::uint32_t tid = 4;
  while (f.deliver({{tid}, PrsRequest{PolicyRuleId{1}}}) == net::Flow::kContinue) ++tid;
  EXPECT_LT(tid, 4 + kMessagesPerLook);
  f.channel->user->on_input_done({});
  EXPECT_EQ(f.channel->resumed, 2);
}

TEST(Connection, IsEndedWhenAllQueuesTogetherAreTooMuchAndItsOwnIsLong) {
  Fixture f;
  f.channel->waiting = kOutputShare;
  f.connection.flush();
  EXPECT_EQ(f.owner.output, static_cast<std::ptrdiff_t>(kOutputShare));
  f.owner.too_much = true;
  f.connection.flush();
  EXPECT_EQ(f.channel->closed, 0);
  f.channel->waiting += 1;
  f.owner.too_much = false;
  f.connection.flush();
  EXPECT_EQ(f.channel->closed, 0);
  f.owner.too_much = true;
  f.connection.flush();
  EXPECT_EQ(f.channel->closed, 1);
  f.channel->user->on_closed({});
  f.channel->user = nullptr;
  EXPECT_EQ(f.owner.output, 0);
}

}  // namespace
}  // namespace simco::middlebox
