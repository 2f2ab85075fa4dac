// What a connection may do in a turn of the loop before others have theirs.
#include "middlebox/connection.hpp"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "middlebox/limits.hpp"
#include "tests/support/octets.hpp"

namespace simco::middlebox {
namespace {

/// Keeps what it is told.
class Channel final : public net::MessageChannel {
 public:
  void start(net::ChannelHandler& handler) override { user = &handler; }
  void detach() override { user = nullptr; }
  std::span<std::byte> allocate(std::size_t size, net::Delivery, std::size_t) override {
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
  std::uint16_t outbound_streams() const override { return 1; }
  std::uint16_t inbound_streams() const override { return 1; }
  std::string peer_address() const override { return "192.0.2.1"; }
  net::TransportStatistics statistics() const override { return {}; }

  net::ChannelHandler* user = nullptr;
  std::vector<std::byte> out;
  int resumed = 0;
  int closed = 0;
  std::size_t waiting = 0;
};

class Owner final : public Connection::Owner {
 public:
  Instant now() const override { return Instant{std::chrono::hours(1)}; }
  bool has_room() const override { return true; }
  MiddleboxSession::Welcome welcome(Connection&, bool) override { return {}; }
  std::vector<std::byte> prove(std::span<const std::byte>) override { return {}; }
  MiddleboxSession::Judgement judge(Connection&, const std::optional<ChallengeOctets>&,
                                    const std::optional<Token>&) override {
    return {};
  }
  Capabilities session_opened(Connection& connection) override {
    connection.set_agent({});
    return {};
  }
  void session_refused(NegativeReplyCode) override {}
  std::string_view name_of(policy::AgentId) const override { return "agent"; }
  void warn_about(std::string_view, std::string_view) override {}
  void submit(Connection& connection, TransactionId tid, const Body&) override {
    ++submitted;
    connection.reply(tid, PrlReply{});
  }
  void mark_dirty(Connection&) override {}
  void end_turn() override { ++turns; }
  void output_changed(std::ptrdiff_t octets) override { output += octets; }
  bool too_much_output() const override { return too_much; }
  bool turn_used_up() const override { return used_up; }
  void connection_over(Connection&) override {}

  int submitted = 0;
  int turns = 0;
  std::ptrdiff_t output = 0;
  bool used_up = false;
  bool too_much = false;
};

struct Fixture {
  Fixture() {
    connection.start();
    deliver({{1}, SeRequest{}});
  }
  ~Fixture() {
    if (channel->user != nullptr) channel->user->on_closed({});
  }
  net::Flow deliver(const Message& message) {
    return channel->user->on_message(test::encoded(message), {});
  }

  boost::asio::io_context io;
  Owner owner;
  std::shared_ptr<Channel> channel = std::make_shared<Channel>();
  Connection connection{owner, channel, io.get_executor(), {}};
};

TEST(Connection, LetsOthersHaveTheirTurnWhenItsOwnIsUsedUp) {
  Fixture f;
  EXPECT_EQ(f.deliver({{2}, PrlRequest{}}), net::Flow::kContinue);
  f.owner.used_up = true;
  // At once after a request that may have taken long, ...
  EXPECT_EQ(f.deliver({{3}, PrlRequest{}}), net::Flow::kPause);
  EXPECT_EQ(f.owner.submitted, 2);
  f.channel->user->on_input_done(false);
  EXPECT_EQ(f.owner.turns, 1);
  EXPECT_EQ(f.channel->resumed, 1);
  // ... and soon after others.
  std::uint32_t tid = 4;
  while (f.deliver({{tid}, PrsRequest{PolicyRuleId{1}}}) == net::Flow::kContinue) ++tid;
  EXPECT_LT(tid, 4 + kMessagesPerLook);
  f.channel->user->on_input_done(false);
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
