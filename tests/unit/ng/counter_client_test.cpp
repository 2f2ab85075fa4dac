// Questions for counters, to a server on this loop.
#include "agent/ng/serve/counter_client.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "agent/limits.hpp"
#include "agent/ng/call/limits.hpp"
#include "tests/support/loop.hpp"

namespace simco::test {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Tcp = asio::ip::tcp;

/// Answers that rule N has counted N packets.
class Middlebox {
 public:
  explicit Middlebox(asio::io_context& io)
      : acceptor_(io, Tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {
    accept();
  }
  net::HostPort endpoint() const { return {"127.0.0.1", acceptor_.local_endpoint().port()}; }

  /// Answers the requests that wait because of `silent`.
  void answer_late() {
    for (const auto& connection : std::exchange(waiting_, {})) answer(connection);
  }

  bool silent = false;
  std::size_t requests = 0;
  std::size_t open = 0;
  std::size_t most_open = 0;

 private:
  struct Connection {
    explicit Connection(Tcp::socket accepted) : socket(std::move(accepted)) {}
    Tcp::socket socket;
    std::string text;
  };

  void accept() {
    acceptor_.async_accept([this](const error_code& error, Tcp::socket socket) {
      if (error) return;
      most_open = std::max(most_open, ++open);
      auto connection = std::make_shared<Connection>(std::move(socket));
      asio::async_read_until(connection->socket, asio::dynamic_buffer(connection->text), "\r\n\r\n",
                             [this, connection](const error_code&, std::size_t) {
                               ++requests;
                               waiting_.push_back(connection);
                               if (!silent) answer_late();
                             });
      accept();
    });
  }
  void answer(const std::shared_ptr<Connection>& connection) {
    std::string body = R"({"counting":true,"run":1,"rules":[)";
    const std::string path = connection->text.substr(0, connection->text.find(" HTTP"));
    for (auto at = path.find_last_of('/'); at != path.npos; at = path.find(',', at + 1)) {
      const auto pid = std::to_string(std::stoul(path.substr(at + 1)));
      if (!body.ends_with('[')) body += ',';
      body += R"({"pid":)" + pid + R"(,"packets":)" + pid +
              R"(,"octets":0,"complete_ms":1,"read_ms":0})";
    }
    body += "]}";
    connection->text =
        "HTTP/1.0 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    asio::async_write(connection->socket, asio::buffer(connection->text),
                      [this, connection](const error_code&, std::size_t) { --open; });
  }

  Tcp::acceptor acceptor_;
  std::vector<std::shared_ptr<Connection>> waiting_;
};

std::vector<PolicyRuleId> from_to(std::uint32_t first, std::uint32_t last) {
  std::vector<PolicyRuleId> result;
  for (auto pid = first; pid <= last; ++pid) result.push_back({pid});
  return result;
}

/// Questions and their answers. A machine that is too slow for the time limit asks again.
struct Asked {
  Loop loop;
  Middlebox middlebox{loop.io()};
  ng::CounterClient client{loop.io(), middlebox.endpoint()};
  std::size_t good = 0;
  std::size_t answers = 0;

  void ask(const std::vector<PolicyRuleId>& pids) {
    client.ask(pids, [this, pids](const ng::Counted& counted) {
      ++answers;
      if (!counted) return ask(pids);
      ++good;
      EXPECT_EQ(counted->size(), pids.size());
      for (const auto pid : pids) {
        EXPECT_EQ(counted->contains(pid) ? counted->at(pid).count.packets : 0, pid.value);
      }
    });
  }
};

TEST(NgCounterClient, ABurstOfQuestionsIsFewRequests) {
  Asked asked;
  constexpr std::size_t kCalls = 1000;
  for (std::uint32_t i = 0; i < kCalls; ++i) asked.ask(from_to(2 * i + 1, 2 * i + 2));
  EXPECT_TRUE(asked.loop.run_until([&] { return asked.good == kCalls; }));
  if (asked.answers == kCalls) {  // no request was given up as too slow
    EXPECT_EQ(asked.middlebox.most_open, 1U);
    constexpr auto kRules = 2 * kCalls;
    EXPECT_EQ(asked.middlebox.requests,
              (kRules + agent::kInspectedRulesMax - 1) / agent::kInspectedRulesMax);
  }
}

TEST(NgCounterClient, AQuestionThatIsLongerThanARequestIsDivided) {
  Asked asked;
  asked.ask(from_to(1, 2 * agent::kInspectedRulesMax + 10));
  asked.ask(from_to(1000, 1003));
  EXPECT_TRUE(asked.loop.run_until([&] { return asked.good == 2; }));
}

// A request asks for two that do not have the same time left: the first one's end is not that of
// the other. On a machine that is too slow for one round, another round shows it.
TEST(NgCounterClient, AQuestionWithoutTimeLeftDoesNotEndTheRequestOfOthers) {
  using Outcome = std::optional<bool>;
  const auto other_is_answered = [] {
    Loop loop;
    Middlebox middlebox(loop.io());
    middlebox.silent = true;
    ng::CounterClient client(loop.io(), middlebox.endpoint());
    Outcome before, first, second;
    const auto ask = [&](std::uint32_t pid, Outcome& outcome) {
      client.ask(from_to(pid, pid), [&](const auto& counted) { outcome = counted.has_value(); });
    };
    ask(1, before);
    EXPECT_TRUE(loop.run_until([&] { return middlebox.requests == 1 || before; }));
    ask(2, first);
    loop.watch(ng::kCountersPatience / 2);
    ask(3, second);
    middlebox.answer_late();
    EXPECT_TRUE(loop.run_until([&] { return first.has_value(); }));
    middlebox.answer_late();
    EXPECT_TRUE(loop.run_until([&] { return second.has_value(); }));
    return middlebox.requests == 2 && before == true && first == false && second == true;
  };
  const auto end = std::chrono::steady_clock::now() + kPatience;
  bool shown = false;
  while (!shown && std::chrono::steady_clock::now() < end) shown = other_is_answered();
  EXPECT_TRUE(shown);
}

TEST(NgCounterClient, EachQuestionIsAnsweredIfNobodyListens) {
  Loop loop;
  const auto where = Middlebox(loop.io()).endpoint();  // closed again
  ng::CounterClient client(loop.io(), where);
  std::size_t failed = 0;
  for (std::uint32_t i = 1; i <= 3; ++i) {
    client.ask(from_to(i, i), [&](const ng::Counted& counted) {
      EXPECT_FALSE(counted);
      ++failed;
      if (failed == 1) client.ask(from_to(9, 9), [&](const auto&) { ++failed; });
    });
  }
  EXPECT_TRUE(loop.run_until([&] { return failed == 4; }));
}

}  // namespace
}  // namespace simco::test
