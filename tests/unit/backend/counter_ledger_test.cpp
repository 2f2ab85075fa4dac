// The counts of elements in all, with any loss of the kernel's counters.
#include "middlebox/backend/nftables/counters/counter_ledger.hpp"

#include <gtest/gtest.h>

namespace simco::backend::nftables {
namespace {

using namespace std::chrono_literals;

Instant at(std::chrono::seconds time) { return Instant(time); }

Key key_of(std::uint16_t port) {
  Key key;
  key.internal_port = port;
  return key;
}

struct CounterLedgerTest : testing::Test {
  match::TupleSpace elements;
  const ElementStore* store = &elements.add(match::Mask{}, {});
  CounterLedger ledger;

  ElementId id(std::uint16_t port) const { return {store, key_of(port)}; }
  const CounterLedger::Account& account(std::uint16_t port) const { return *ledger.find(id(port)); }
};

TEST_F(CounterLedgerTest, RenewalsAddUp) {
  ledger.add(id(1), at(1s));
  ledger.read(id(1), {5, 500}, at(2s));
  EXPECT_EQ(account(1).total(), (PacketCount{5, 500}));
  ledger.renew(id(1), {7, 700}, at(3s));
  EXPECT_EQ(account(1).total(), (PacketCount{7, 700}));
  ledger.read(id(1), {2, 200}, at(4s));
  EXPECT_EQ(account(1).total(), (PacketCount{9, 900}));
  EXPECT_EQ(account(1).complete_since, at(1s));
}

TEST_F(CounterLedgerTest, TheLastPacketPassedBetweenTwoReadings) {
  ledger.add(id(1), at(1s));
  ledger.read(id(1), {0, 0}, at(2s));
  EXPECT_FALSE(account(1).last_packet);
  ledger.read(id(1), {1, 100}, at(5s));
  ledger.read(id(1), {1, 100}, at(8s));
  ASSERT_TRUE(account(1).last_packet);
  EXPECT_EQ(account(1).last_packet->after, at(2s));
  EXPECT_EQ(account(1).last_packet->until, at(5s));
  ledger.renew(id(1), {2, 200}, at(9s));
  EXPECT_EQ(account(1).last_packet->after, at(8s));
  ledger.read(id(1), {0, 0}, at(10s));
  EXPECT_EQ(account(1).last_packet->until, at(9s)) << "a counter at 0 is no packet";
}

TEST_F(CounterLedgerTest, WhatIsLostIsSaid) {
  ledger.add(id(1), at(1s));
  ledger.read(id(1), {5, 500}, at(2s));
  ledger.lose(id(1), at(3s));
  EXPECT_EQ(account(1).total(), (PacketCount{5, 500})) << "what was read is not lost";
  EXPECT_EQ(account(1).complete_since, at(3s));
  ledger.read(id(1), {1, 100}, at(4s));
  EXPECT_EQ(account(1).total(), (PacketCount{6, 600}));
}

TEST_F(CounterLedgerTest, ACounterThatAnotherProgramHasReset) {
  ledger.add(id(1), at(1s));
  ledger.read(id(1), {5, 500}, at(2s));
  ledger.read(id(1), {2, 200}, at(6s));
  EXPECT_EQ(account(1).total(), (PacketCount{7, 700}));
  EXPECT_EQ(account(1).complete_since, at(6s));
}

TEST_F(CounterLedgerTest, ATableThatIsMadeAgain) {
  elements.find(match::Mask{})->hold(key_of(1), {{1}, {}, at(60s)});
  ledger.restart(elements, at(1s));
  ledger.read(id(1), {5, 500}, at(2s));
  elements.find(match::Mask{})->hold(key_of(2), {{2}, {}, at(60s)});
  ledger.restart(elements, at(3s));
  EXPECT_EQ(account(1).total(), (PacketCount{5, 500}));
  EXPECT_EQ(account(1).complete_since, at(3s));
  EXPECT_EQ(account(2).total(), PacketCount{});
}

TEST_F(CounterLedgerTest, ARuleThatJoinsCountsFromThenOn) {
  ledger.add(id(1), at(1s));
  ledger.read(id(1), {5, 500}, at(2s));
  ledger.join(id(1), {8}, at(2s));
  EXPECT_EQ(ledger.share_of(id(1), {7})->count, (PacketCount{5, 500}));
  EXPECT_EQ(ledger.share_of(id(1), {8})->count, PacketCount{});
  EXPECT_FALSE(ledger.share_of(id(1), {8})->last_packet);
  EXPECT_EQ(ledger.share_of(id(1), {8})->complete_since, at(2s));
  ledger.read(id(1), {7, 700}, at(4s));
  EXPECT_EQ(ledger.share_of(id(1), {7})->count, (PacketCount{7, 700}));
  EXPECT_EQ(ledger.share_of(id(1), {7})->complete_since, at(1s));
  EXPECT_EQ(ledger.share_of(id(1), {8})->count, (PacketCount{2, 200}));
  EXPECT_EQ(ledger.share_of(id(1), {8})->last_packet->until, at(4s));
  ledger.leave(id(1), {7});
  ledger.renew(id(1), {7, 700}, at(5s));
  EXPECT_EQ(ledger.share_of(id(1), {8})->count, (PacketCount{2, 200}));
  ledger.leave(id(1), {8});
  ledger.join(id(1), {8}, at(6s));
  EXPECT_EQ(ledger.share_of(id(1), {8})->count, PacketCount{}) << "it has come again";
  ledger.remove(id(1));
  EXPECT_FALSE(ledger.share_of(id(1), {8}));
  ledger.add(id(1), at(7s));
  ledger.read(id(1), {1, 100}, at(8s));
  EXPECT_EQ(ledger.share_of(id(1), {8})->count, (PacketCount{1, 100})) << "of the new element";
}

TEST_F(CounterLedgerTest, AccountsOfOthersStayWhereOneIsRemoved) {
  for (std::uint16_t port = 1; port <= 3; ++port) {
    ledger.add(id(port), at(1s));
    ledger.read(id(port), {port, 100U * port}, at(2s));
  }
  ledger.remove(id(1));
  ledger.remove(id(1));
  EXPECT_EQ(ledger.size(), 2U);
  EXPECT_EQ(ledger.find(id(1)), nullptr);
  EXPECT_EQ(account(2).total().packets, 2U);
  EXPECT_EQ(account(3).total().packets, 3U);
  ledger.remove(id(3));
  ledger.remove(id(2));
  EXPECT_EQ(ledger.size(), 0U);
  ledger.read(id(2), {9, 900}, at(3s));  // asked before, answered after
  EXPECT_EQ(ledger.find(id(2)), nullptr);
}

}  // namespace
}  // namespace simco::backend::nftables
