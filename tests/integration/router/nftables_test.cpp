// Properties of the nftables backend alone, inside one process.
#include <gtest/gtest.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <vector>

#include "middlebox/backend/nftables/limits.hpp"
#include "middlebox/backend/nftables/netlink.hpp"
#include "tests/integration/router/backend_fixture.hpp"

namespace simco::test {
namespace {

/// An unclaimed table whose sets go soon when they are empty.
backend::nftables::Options quick_options() {
  auto options = nftables_options();
  options.set_idle = std::chrono::milliseconds(300);
  options.claim_table = false;
  return options;
}

struct Nftables : testing::Test {
  BackendFixture fixture{quick_options()};
};

// As when a box has lost the rules to another one.
TEST_F(Nftables, ALeaseCanComeLater) {
  EXPECT_EQ(fixture.apply(change(kAdd, 1, "10.0.0.2:5004", "192.0.2.2:6004")).front(),
            ChangeResult::kDone);
  const auto leases = [&](const char* what) {
    return fixture.router.output("nft list table inet simco | grep -c '" + std::string(what) + "'");
  };
  EXPECT_EQ(leases("@lease"), "0\n");
  fixture.backend->lease({});
  EXPECT_EQ(leases("nfproto != @lease"), "4\n") << "each side, each version";
  EXPECT_EQ(leases("elements = { ipv4"), "0\n");
  fixture.backend->lease(std::chrono::steady_clock::now() + std::chrono::hours(1));
  EXPECT_EQ(leases("elements = { ipv4 timeout"), "1\n");
  fixture.backend->lease(Instant::max());
  EXPECT_EQ(leases("@lease"), "0\n");
  EXPECT_EQ(fixture.apply(change(kAdd, 2, "10.0.0.3:5004", "192.0.2.2:6004")).front(),
            ChangeResult::kDone);
  EXPECT_TRUE(fixture.elements().contains("pid 1"));
}

// The kernel refuses an interval that overlaps one that somebody else has put there.
TEST_F(Nftables, OnlyTheGuiltyChangeOfABatchIsRefused) {
  const auto large = [](RuleChange::Kind kind, std::uint32_t pid, int port) {
    return change(kind, pid, "10.0.0.2:" + std::to_string(port) + "/5000", "192.0.2.2", 60,
                  Direction::kInbound);
  };
  ASSERT_EQ(fixture.apply(large(kAdd, 1, 1000)).front(), ChangeResult::kDone);
  fixture.router.shell(
      "nft add element inet simco enable4-in-intervals "
      "'{ 10.0.0.2 . 192.0.2.2 . udp . 20000-30000 . 0-65535 timeout 1h }'");
  EXPECT_EQ(
      fixture.apply({change(kAdd, 2, "10.0.0.2:5004", "192.0.2.2:6004"), large(kAdd, 3, 22000),
                     change(kAdd, 4, "10.0.0.2:5006", "192.0.2.2:6004"), large(kRemove, 1, 1000)}),
      (Results{ChangeResult::kDone, ChangeResult::kRefused, ChangeResult::kDone,
               ChangeResult::kDone}));
  EXPECT_TRUE(fixture.elements().contains("pid 2"));
  EXPECT_FALSE(fixture.elements().contains("pid 3"));
  EXPECT_FALSE(fixture.elements().contains("pid 1\""));
}

TEST_F(Nftables, OverlappingIntervalsAndTooManyAreRefused) {
  std::vector<RuleChange> batch;
  for (std::uint32_t i = 0; i < 257; ++i) {
    batch.push_back(
        change(kAdd, i + 1,
               "10.0." + std::to_string(i / 200) + "." + std::to_string(i % 200) + ":1000/2000",
               "192.0.2.2", 60, Direction::kInbound));
    batch.back().after.owner = rule::AgentId{i};
  }
  auto results = Results(256, ChangeResult::kDone);
  results.push_back(ChangeResult::kNoResources);
  EXPECT_EQ(fixture.apply(batch), results);
  batch.front() = of(kRemove, batch.front().after);
  EXPECT_EQ(fixture.apply(batch.front()).front(), ChangeResult::kDone);
  EXPECT_EQ(
      fixture.apply(change(kAdd, 999, "10.0.0.1:2000/2000", "192.0.2.2", 60, Direction::kInbound))
          .front(),
      ChangeResult::kRefused)
      << "overlaps";
}

/// A rule whose mask is given by its external prefix.
RuleChange prefix_rule(std::uint32_t pid, int length, int port, std::uint32_t owner) {
  auto result = change(kAdd, pid, "10.0.0.2:" + std::to_string(port),
                       "198.0.0.0/" + std::to_string(length) + ":6004", 60, Direction::kInbound);
  result.after.owner = rule::AgentId{owner};
  return result;
}

TEST_F(Nftables, OneAgentsMasksLeaveRoomForOthers) {
  const auto sets = [&](const std::string& which) {
    return fixture.router.output("nft list table inet simco | grep 'set enable4-in_' | grep -c " +
                                 which);
  };
  std::uint32_t pid = 0;
  for (int length = 8; length < 28; ++length) {
    EXPECT_EQ(fixture.apply(prefix_rule(++pid, length, 1000 + length, 1)).front(),
              ChangeResult::kDone);
  }
  EXPECT_EQ(sets("proto"), "8\n") << "half of them, the others are intervals";
  for (int length = 8; length < 16; ++length) {
    auto other = prefix_rule(++pid, length, 2000 + length, 2);
    other.after.external.prefix_length = static_cast<std::uint8_t>(length + 12);
    EXPECT_EQ(fixture.apply(other).front(), ChangeResult::kDone);
  }
  EXPECT_EQ(sets("proto"), "12\n") << "half of what is left";
  for (std::uint32_t owner = 3; owner <= 6; ++owner) {
    for (int length = 8; length < 12; ++length) {
      auto other = prefix_rule(++pid, length, 1000 * static_cast<int>(owner) + length, owner);
      other.after.external.prefix_length = static_cast<std::uint8_t>(length + 10 + owner);
      EXPECT_EQ(fixture.apply(other).front(), ChangeResult::kDone);
    }
  }
  EXPECT_EQ(sets("proto"), "16\n") << "2, 1 and 1; the sixth agent's are intervals";
  // Rules of the common kinds always find their set.
  std::vector<RuleChange> calls;
  for (int i = 0; i < 400; ++i) {
    calls.push_back(
        change(kAdd, ++pid, "10.0.0.3:" + std::to_string(5000 + 2 * i) + "/2", "192.0.2.2:6004/2"));
    calls.back().after.owner = rule::AgentId{7};
  }
  EXPECT_EQ(fixture.apply(calls), Results(400, ChangeResult::kDone));
}

// Each had its place: a set for some, the interval set for others. Which had which is not kept.
TEST_F(Nftables, RulesOfAnEarlierLifeFindPlacesAgain) {
  std::vector<RuleChange> rules;
  std::uint32_t pid = 0;
  for (int length = 8; length < 28; ++length) {
    rules.push_back(prefix_rule(++pid, length, 1000, 1));  // all overlap, as intervals
  }
  rules.push_back(change(kAdd, ++pid, "10.0.0.2:500/5000", "198.0.0.0/8", 60, Direction::kInbound));
  BackendFixture other(Words{"--backend", "null"});
  const auto options = nftables_options();
  const auto results = other.router.run([&] {
    backend::nftables::NftablesBackend restored(other.io, options);
    return restored.begin(rules);
  });
  EXPECT_EQ(results, Results(rules.size(), ChangeResult::kDone));
}

// More than the kernel takes in one commit.
TEST_F(Nftables, RulesOfAnEarlierLifeMayComeInParts) {
  std::vector<RuleChange> rules;
  for (std::uint32_t i = 0; i < 3000; ++i) {
    rules.push_back(change(kAdd, i + 1, "10.0.0.2:" + std::to_string(5000 + i), "192.0.2.2:6004"));
    rules.push_back(change(kAdd, i + 5000, "10.0.0.3:" + std::to_string(5000 + i), "any", 60,
                           Direction::kInbound));
  }
  BackendFixture other(Words{"--backend", "null"});
  for (const bool claims : {true, false}) {
    auto options = nftables_options();
    options.install_octets = 50'000;
    options.claim_table = claims;
    other.router.run([&] {
      backend::nftables::NftablesBackend restored(other.io, options);
      EXPECT_EQ(restored.begin(rules), Results(rules.size(), ChangeResult::kDone));
      EXPECT_EQ(other.router.output("nft list table inet simco | grep -c 'comment \"pid'"),
                "6000\n");
    });
  }
}

// However many rules end at once, and however many flows there are: nobody waits for the search.
TEST_F(Nftables, FlowsOfManyEndedRulesAreLookedForLater) {
  std::vector<RuleChange> batch;
  for (std::uint32_t i = 0; i < 5000; ++i) {
    batch.push_back(change(kAdd, i + 1, "10.0.0.2:" + std::to_string(10'000 + i), "any", 60,
                           Direction::kInbound));
  }
  EXPECT_EQ(fixture.apply(batch), Results(5000, ChangeResult::kDone));
  fixture.router.shell(
      "for p in 10000 12500 14999 15000; do conntrack -I -p udp -s 192.0.2.2 -d 10.0.0.2 --sport "
      "6004 "
      "--dport $p --timeout 600 >/dev/null 2>&1; done");
  const auto flows = [&] {
    return fixture.router.output(
        "conntrack -L -p udp 2>/dev/null | grep -c 'dst=10.0.0.2 sport=6004'");
  };
  ASSERT_EQ(flows(), "4\n");
  for (auto& one : batch) one = of(kRemove, one.after);
  EXPECT_EQ(fixture.apply(batch), Results(5000, ChangeResult::kDone));
  EXPECT_EQ(flows(), "4\n") << "answered before";
  for (int i = 0; i < 1000 && flows() != "1\n"; ++i) {
    fixture.io.run_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(flows(), "1\n") << "the one without a rule of ours";
}

// However much the kernel hands out at a time.
TEST(Dump, LeavesOthersTheirTurns) {
  NetworkNamespace router;
  router.shell(
      "for p in $(seq 1000 1199); do conntrack -I -p udp -s 192.0.2.2 -d 10.0.0.2 --sport 6004 "
      "--dport $p --timeout 600 >/dev/null 2>&1; done");
  boost::asio::io_context io;
  router.run([&] {
    backend::nftables::Dump dump(io);
    backend::nftables::MessageBuffer request;
    request.begin((NFNL_SUBSYS_CTNETLINK << 8) | IPCTNL_MSG_CT_GET, NLM_F_DUMP, AF_UNSPEC);
    request.end();
    std::size_t flows = 0;
    bool done = false;
    dump.start(request, [&](const nlmsghdr*) { ++flows; }, [&](int error) { done = error == 0; });
    for (std::size_t before = 0; !done && io.run_one() != 0; before = flows) {
      EXPECT_LE(flows - before, backend::nftables::kDumpMessagesPerTurn);
    }
    EXPECT_TRUE(done);
    EXPECT_EQ(flows, 200U);
    dump.start(request, [&](const nlmsghdr*) { ++flows; }, [](int) {});
    io.run_one();  // in the middle
    dump.finish();
    EXPECT_EQ(flows, 400U);
  });
}

// Any user can ask whose the table is, as often as it likes.
TEST_F(Nftables, ThoseWhoAskForTheLockAreLetGo) {
  sockaddr_un address{AF_UNIX, {}};
  const std::string_view name = "simco-middlebox/simco";
  std::ranges::copy(name, address.sun_path + 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const auto ask = [&] {
    const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const bool heard = ::connect(socket, reinterpret_cast<sockaddr*>(&address), size) == 0;
    ::close(socket);
    return heard;
  };
  fixture.router.run([&] {
    int asked = 0;
    while (ask()) ++asked;
    EXPECT_GT(asked, 0);
  });
  EXPECT_TRUE(eventually([&] {
    fixture.io.run_for(kLook);
    return fixture.router.run(ask);
  }));
}

// Somebody else's commit comes between two of ours, and before the watch has seen it.
TEST_F(Nftables, CommitsOfOthersDoNotDisturb) {
  for (int i = 0; i < 20; ++i) {
    fixture.router.shell("nft add table inet other" + std::to_string(i));
    const auto port = std::to_string(5000 + i);
    EXPECT_EQ(fixture
                  .apply(change(kAdd, static_cast<std::uint32_t>(i + 1), "10.0.0.2:" + port,
                                "192.0.2.2:6004"))
                  .front(),
              ChangeResult::kDone);
  }
  fixture.router.shell("nft delete table inet simco");
  EXPECT_EQ(fixture.apply(change(kAdd, 99, "10.0.0.3:1", "192.0.2.2:6004")).front(),
            ChangeResult::kDone)
      << "the table is restored before it is built upon";
  std::size_t lines = 0;
  for (const char letter : fixture.elements()) lines += letter == '\n' ? 1 : 0;
  EXPECT_EQ(lines, 21U);
}

TEST_F(Nftables, ElementsThatAreGoneDoNotFailABatch) {
  const std::string in = "10.0.0.2:5003/3";  // an odd port and a pair: two sets
  const std::string out = "192.0.2.2:6005/3";
  const std::string one = "192.0.2.2:6004";
  fixture.apply({change(kAdd, 1, in, out), change(kAdd, 2, "10.0.0.3:5004", one)});
  fixture.router.shell(
      "nft flush set inet simco enable4_32.16_32.16_proto; "
      "nft flush set inet simco enable4_32.15_32.15_proto");
  EXPECT_EQ(fixture.apply({change(kRemove, 1, in, out), change(kAdd, 3, "10.0.0.4:5004", one),
                           change(kSetLifetime, 2, "10.0.0.3:5004", one, 600)}),
            Results(3, ChangeResult::kDone));
  EXPECT_EQ(fixture.elements(), "comment \"pid 2\"\ncomment \"pid 3\"\n");
}

TEST_F(Nftables, SetsThatNobodyNeedsLeaveTheDataPath) {
  const auto sets = [&] {
    return fixture.router.output("nft list table inet simco | grep -c 'flags timeout'");
  };
  const auto run_until = [&](auto done) {
    return eventually([&] {
      fixture.io.run_for(kLook);
      return done();
    });
  };
  const std::string out = "192.0.2.2:6004";
  for (int round = 0; round < 3; ++round) {
    fixture.apply({change(kAdd, 1, "10.0.0.2:5004", out),
                   change(kAdd, 2, "10.0.0.2:5004", "any", 60, Direction::kInbound)});
    fixture.io.run_for(std::chrono::milliseconds(700));
    EXPECT_EQ(sets(), "2\n");  // both are needed
    fixture.apply(change(kRemove, 2, "10.0.0.2:5004", "any", 60, Direction::kInbound));
    EXPECT_TRUE(run_until([&] { return sets() == "1\n"; })) << sets();
    EXPECT_EQ(fixture.elements(), "comment \"pid 1\"\n");
    fixture.apply(change(kRemove, 1, "10.0.0.2:5004", out));
    EXPECT_TRUE(run_until([&] { return sets() == "0\n"; })) << sets();
  }
}

TEST_F(Nftables, ATableThatIsGoneForGoodEnforcesNothing) {
  fixture.router.shell("nft delete table inet simco; nft add table inet simco");
  const auto add = change(kAdd, 1, "10.0.0.2:5004", "192.0.2.2:6004");
  EXPECT_EQ(fixture.apply(add).front(), ChangeResult::kRefused) << "it is somebody else's now";
  fixture.router.shell("nft delete table inet simco");
  EXPECT_TRUE(eventually([&] {
    fixture.io.run_for(kLook);
    return fixture.apply(add).front() == ChangeResult::kDone;
  }));
}

}  // namespace
}  // namespace simco::test
