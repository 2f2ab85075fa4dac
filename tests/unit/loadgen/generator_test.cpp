// Connections that are lost, or that answer nothing, while others are up: no request is left
// without a reply.
#include "loadgen/generator.hpp"

#include <gtest/gtest.h>

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <set>
#include <utility>

#include "tests/support/memory_channel.hpp"

namespace simco::loadgen {
namespace {

enum class Behaviour : std::uint8_t { kAnswers, kAnswersNothing, kGetsLost };

/// A connection without a network.
class FakeClient final : public Client {
 public:
  FakeClient(boost::asio::io_context& io, Client::Observer& observer, Behaviour behaviour)
      : io_(io), observer_(observer), behaviour_(behaviour) {}

  void open() override {
    boost::asio::post(io_, [this] { observer_.on_ready(*this); });
  }
  std::optional<Sent> send(std::uint64_t) override {
    const TransactionKey key{++sent_};
    if (behaviour_ == Behaviour::kAnswers) {
      boost::asio::post(io_, [this, key] {
        observer_.on_ended(*this, key, {});
        observer_.on_turn(*this);
      });
    }
    if (behaviour_ == Behaviour::kGetsLost && sent_ == 1) {
      boost::asio::post(io_, [this] { observer_.on_down(*this, boost::asio::error::timed_out); });
    }
    return Sent{key, {}};
  }
  void flush() override {}
  bool full() const override { return false; }
  std::size_t queued() const override { return 0; }
  void finish() override {
    boost::asio::post(io_, [this] { observer_.on_down(*this, {}); });
  }
  const net::MessageChannel* channel() const override { return channel_.get(); }

 private:
  boost::asio::io_context& io_;
  Client::Observer& observer_;
  Behaviour behaviour_;
  std::uint64_t sent_ = 0;
  test::VirtualTime time_;
  std::shared_ptr<net::MessageChannel> channel_ = test::MemoryChannel::make_pair(time_).first;
};

/// A run over two connections with their behaviours; those that are opened again answer.
class GeneratorTest : public testing::Test {
 protected:
  GeneratorTest() { options_.abort_lag_s = 0; }  // on a slow machine, a pause is a lag
  void run(std::pair<Behaviour, Behaviour> behaviours) {
    options_.rate = 1000;
    options_.count = 100;
    Generator generator(
        io_, options_, recorder_, 2, [&](std::size_t number, Client::Observer& observer) {
          const auto first = number == 0 ? behaviours.first : behaviours.second;
          const bool again = !made_.insert(number).second;
          opened_again_ += again ? 1 : 0;
          return std::make_unique<FakeClient>(io_, observer, again ? Behaviour::kAnswers : first);
        });
    generator.run({});
    abort_reason_ = generator.abort_reason();
  }

  boost::asio::io_context io_;
  GeneratorOptions options_;
  Recorder recorder_{false};
  std::set<std::size_t> made_;
  int opened_again_ = 0;
  std::optional<std::string> abort_reason_;
};

TEST_F(GeneratorTest, ALostConnectionEndsTheRun) {
  run({Behaviour::kAnswers, Behaviour::kGetsLost});
  EXPECT_TRUE(abort_reason_ && abort_reason_->contains("connection lost"));
  EXPECT_EQ(opened_again_, 0);
}

TEST_F(GeneratorTest, AnotherConnectionTakesTheRequestsOfALostOne) {
  options_.reconnect = true;
  run({Behaviour::kAnswers, Behaviour::kGetsLost});
  EXPECT_FALSE(abort_reason_);
  EXPECT_EQ(recorder_.counts().completed, 100U);
}

TEST_F(GeneratorTest, RequestsWaitUntilALostConnectionIsOpenAgain) {
  options_.reconnect = true;
  run({Behaviour::kGetsLost, Behaviour::kGetsLost});
  EXPECT_FALSE(abort_reason_);
  EXPECT_EQ(recorder_.counts().completed, 100U);
  EXPECT_GE(opened_again_, 1);
}

TEST_F(GeneratorTest, ARequestWithoutAReplyGoesOverTheOtherConnection) {
  options_.move_after_s = 0.001;
  run({Behaviour::kAnswersNothing, Behaviour::kAnswers});
  EXPECT_FALSE(abort_reason_);
  EXPECT_EQ(recorder_.counts().completed, 100U);
}

}  // namespace
}  // namespace simco::loadgen
