// The transactions of RFC 3261 17.1.1.2 and 17.2.1 by a clock of the test's own.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "loadgen/sip/client_transactions.hpp"
#include "loadgen/sip/server_transactions.hpp"

namespace simco::loadgen::sip {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

constexpr Time kStart{};

/// Runs the timers of `transactions` from one deadline to the next until none is left; returns the
/// events, as "500:7" for a copy of call 7 half a second after the start and "32000:7!" for its
/// end.
std::vector<std::string> run(ClientTransactions& transactions) {
  std::vector<std::string> result;
  while (const auto next = transactions.next()) {
    EXPECT_FALSE(transactions.take_due(*next - 1ns)) << "early";
    while (const auto due = transactions.take_due(*next)) {
      const auto at = std::chrono::duration_cast<milliseconds>(*next - kStart).count();
      result.push_back(std::to_string(at) + ":" + std::to_string(due->number) +
                       (due->timed_out ? "!" : ""));
    }
  }
  return result;
}

using Events = std::vector<std::string>;

TEST(ClientTransactions, SevenInvitesAndTheEndAfter64T1) {
  ClientTransactions transactions(kT1, false);
  transactions.start(7, kStart);
  EXPECT_EQ(run(transactions),
            (Events{"500:7", "1500:7", "3500:7", "7500:7", "15500:7", "31500:7", "32000:7!"}));
  EXPECT_EQ(transactions.size(), 0U);
  EXPECT_EQ(transactions.retransmissions(), 6U);
  EXPECT_EQ(transactions.further_retransmissions(), 5U);
}

TEST(ClientTransactions, T1ScalesEverything) {
  ClientTransactions transactions(100ms, false);
  transactions.start(1, kStart);
  EXPECT_EQ(run(transactions),
            (Events{"100:1", "300:1", "700:1", "1500:1", "3100:1", "6300:1", "6400:1!"}));
}

TEST(ClientTransactions, AReliableTransportHasTimerBAlone) {
  ClientTransactions transactions(kT1, true);
  transactions.start(1, kStart);
  EXPECT_EQ(run(transactions), (Events{"32000:1!"}));
  EXPECT_EQ(transactions.retransmissions(), 0U);
}

TEST(ClientTransactions, AProvisionalResponseStopsBothTimers) {
  ClientTransactions transactions(kT1, false);
  transactions.start(1, kStart);
  ASSERT_TRUE(transactions.take_due(kStart + 500ms));
  EXPECT_TRUE(transactions.proceed(1));
  EXPECT_EQ(transactions.next(), std::nullopt);
  EXPECT_EQ(transactions.size(), 1U);
  EXPECT_TRUE(transactions.proceed(1)) << "a second one";
  EXPECT_TRUE(transactions.end(1));
  EXPECT_FALSE(transactions.end(1)) << "a second response";
  EXPECT_FALSE(transactions.proceed(1));
  EXPECT_FALSE(transactions.end(2)) << "of a call that was never made";
}

TEST(ClientTransactions, HaveTimersOfTheirOwn) {
  ClientTransactions transactions(kT1, false);
  transactions.start(1, kStart);
  transactions.start(2, kStart + 200ms);
  transactions.start(3, kStart + 200ms);
  EXPECT_EQ(transactions.next(), kStart + 500ms);
  EXPECT_TRUE(transactions.end(1));
  EXPECT_EQ(transactions.next(), kStart + 700ms);
  EXPECT_EQ(transactions.take_due(kStart + 700ms)->number, 2U);
  EXPECT_EQ(transactions.take_due(kStart + 700ms)->number, 3U);
  EXPECT_FALSE(transactions.take_due(kStart + 700ms));
  EXPECT_EQ(transactions.next(), kStart + 1700ms);
}

TEST(ClientTransactions, ALateCallDoesNotShiftWhatFollows) {
  ClientTransactions transactions(kT1, false);
  transactions.start(1, kStart);
  ASSERT_TRUE(transactions.take_due(kStart + 900ms));
  EXPECT_EQ(transactions.next(), kStart + 1500ms);
}

// --- The server ----------------------------------------------------------------------------------

constexpr milliseconds kLifetime = kTimerBInT1 * kT1 + milliseconds(kT4);

/// The peer at `port` of the host 192.0.2.`host`.
Peer peer_at(int host, int port = 5060) {
  const auto address = "192.0.2." + std::to_string(host);
  return {address + ':' + std::to_string(port), *parse_address(address)};
}

const Peer kFirst = peer_at(1);
const Peer kSecond = peer_at(2);

TEST(ServerTransactions, ACopyGetsTheSameResponseUntilNoneCanCome) {
  ServerTransactions transactions(kLifetime);
  EXPECT_EQ(transactions.find(kFirst, "a", kStart), nullptr);
  EXPECT_TRUE(transactions.add(kFirst, "a", "180", kStart));
  for (const auto after : {0ms, 500ms, 31'500ms, 36'999ms}) {
    const auto* known = transactions.find(kFirst, "a", kStart + after);
    ASSERT_NE(known, nullptr) << after.count();
    EXPECT_EQ(*known, "180");
  }
  EXPECT_EQ(transactions.size(), 1U);
  EXPECT_EQ(transactions.find(kFirst, "a", kStart + 37s), nullptr);
  EXPECT_EQ(transactions.size(), 0U);
}

TEST(ServerTransactions, NobodyReachesThoseOfOthers) {
  ServerTransactions transactions(kLifetime);
  const Peer neighbour = peer_at(1, 5061);
  EXPECT_TRUE(transactions.add(kFirst, "a", "of the first", kStart));
  EXPECT_EQ(transactions.find(kSecond, "a", kStart), nullptr);
  EXPECT_EQ(transactions.find(neighbour, "a", kStart), nullptr);
  EXPECT_TRUE(transactions.add(kSecond, "a", "of the second", kStart));
  EXPECT_EQ(*transactions.find(kFirst, "a", kStart), "of the first");
  EXPECT_FALSE(transactions.add(kFirst, "a", "another", kStart));
  EXPECT_EQ(*transactions.find(kFirst, "a", kStart), "of the first");
}

TEST(ServerTransactions, AnHonestGeneratorIsNotRefused) {
  // Each of its calls is known for 37 s, far longer than it takes.
  ServerTransactions transactions(kLifetime);
  const std::string response(300, 'x');
  for (int call = 0; call < 2000 * 60; ++call) {
    ASSERT_TRUE(transactions.add(kFirst, std::to_string(call), response, kStart + call * 500us))
        << call;
  }
  EXPECT_EQ(transactions.size(), 2000U * 37);
}

TEST(ServerTransactions, OneHostLeavesRoomForOthers) {
  ServerTransactions many(kLifetime);
  for (std::size_t i = 0; i < kSourceTransactionsMax; ++i) {
    ASSERT_TRUE(
        many.add(peer_at(1, 1024 + static_cast<int>(i % 50)), std::to_string(i), "", kStart));
  }
  EXPECT_FALSE(many.add(peer_at(1, 9), "from another port", "", kStart));
  EXPECT_TRUE(many.add(kSecond, "a", "", kStart));
  EXPECT_TRUE(many.add(kFirst, "later", "", kStart + kLifetime));

  ServerTransactions large(kLifetime);
  const std::string response(kMessageMax, 'x');
  for (std::size_t i = 0; i < kSourceResponsesMax / kMessageMax; ++i) {
    ASSERT_TRUE(large.add(kFirst, std::to_string(i), response, kStart));
  }
  EXPECT_FALSE(large.add(kFirst, "one more", "x", kStart));
  EXPECT_TRUE(large.add(kSecond, "a", response, kStart));
  EXPECT_TRUE(large.add(kFirst, "later", "x", kStart + kLifetime));
}

TEST(ServerTransactions, AreBoundedInNumberAndOctets) {
  ServerTransactions many(kLifetime);
  for (std::size_t i = 0; i < kServerTransactionsMax; ++i) {
    ASSERT_TRUE(many.add(peer_at(static_cast<int>(i % 4)), std::to_string(i), "", kStart));
  }
  EXPECT_FALSE(many.add(peer_at(9), "one more", "", kStart));
  EXPECT_TRUE(many.add(peer_at(9), "later", "", kStart + kLifetime));
  EXPECT_EQ(many.size(), 1U);

  ServerTransactions large(kLifetime);
  const std::string response(kMessageMax, 'x');
  for (std::size_t i = 0; i < kKeptResponsesMax / kMessageMax; ++i) {
    ASSERT_TRUE(large.add(peer_at(static_cast<int>(i % 4)), std::to_string(i), response, kStart));
  }
  EXPECT_FALSE(large.add(peer_at(9), "one more", "x", kStart));
  EXPECT_TRUE(large.add(peer_at(9), "later", "x", kStart + kLifetime));
  EXPECT_FALSE(
      large.add(peer_at(9), std::string(kTransactionIdMax + 1, 'x'), "x", kStart + kLifetime));
}

TEST(ServerTransactions, AreNamedByBranchAndSender) {
  const auto id = [](const std::string& via, const std::string& tag = "1") {
    const std::string text = "INVITE sip:b SIP/2.0\r\nVia: " + via +
                             "\r\nFrom: <sip:a>;tag=" + tag +
                             "\r\nTo: <sip:b>\r\nCall-ID: c\r\nCSeq: 1 INVITE\r\n\r\n";
    const auto invite = parse_message(text);
    EXPECT_TRUE(invite) << text;
    return transaction_id(*invite);
  };
  const std::string via = "SIP/2.0/UDP a:5060;branch=z9hG4bKx";
  EXPECT_EQ(id(via), id(via, "2"));
  EXPECT_NE(id(via), id("SIP/2.0/UDP a:5060;branch=z9hG4bKy"));
  EXPECT_NE(id(via), id("SIP/2.0/UDP a:5061;branch=z9hG4bKx"));
  // Without the cookie, the fields of RFC 2543.
  EXPECT_EQ(id("SIP/2.0/UDP a;branch=1"), id("SIP/2.0/UDP a;branch=1"));
  EXPECT_NE(id("SIP/2.0/UDP a;branch=1"), id("SIP/2.0/UDP a;branch=1", "2"));
  EXPECT_NE(id("SIP/2.0/UDP a"), id("SIP/2.0/UDP b"));
}

}  // namespace
}  // namespace simco::loadgen::sip
