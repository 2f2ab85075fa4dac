// The client and the server of the sip workload against misbehaving peers: over real sockets on the
// loopback interface.
#include <gtest/gtest.h>

#include <boost/asio/ip/udp.hpp>
#include <fstream>
#include <map>
#include <set>

#include "loadgen/sip/message.hpp"
#include "loadgen/sip/sip_client.hpp"
#include "loadgen/sip/sip_server.hpp"
#include "simco/net/connector.hpp"
#include "simco/net/limits.hpp"
#include "tests/support/channel_handler.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/loop.hpp"

namespace simco::loadgen {
namespace {

using boost::system::error_code;
using sip::ResponseKind;

std::string text_in(const test::Octets& octets) { return std::string(sip::text_of(octets)); }

/// A channel that sends any text, and the answers.
struct SipPeer {
  std::shared_ptr<net::MessageChannel> channel;
  test::RecordingHandler heard;

  void say(const std::string& text) {
    const auto room = channel->allocate(text.size(), {});
    std::ranges::copy(std::as_bytes(std::span(text)), room.begin());
    channel->flush();
  }
};

std::string request(const std::string& method, const std::string& branch) {
  return method + " sip:b@b.example SIP/2.0\r\nVia: SIP/2.0/UDP a.example;branch=" + branch +
         "\r\nFrom: <sip:a@a.example>;tag=1\r\nTo: <sip:b@b.example>\r\nCall-ID: x\r\nCSeq: 1 " +
         method + "\r\nContent-Length: 0\r\n\r\n";
}

class SipServerTest : public testing::Test {
 protected:
  SipServerTest() {
    SipServerOptions options;
    options.listen.transports = {net::Transport::kTcp, net::Transport::kUdp};
    options.listen.port = 0;
    options.response = ResponseKind{180, "Ringing"};
    options.keep_arrivals = true;
    server_ = std::make_unique<SipServer>(loop_.io(), options);
  }
  ~SipServerTest() override {
    for (auto& peer : peers_) peer->channel->detach();
    loop_.watch(std::chrono::milliseconds(5));
    server_.reset();
  }

  std::uint16_t port_of(net::Transport transport) const {
    for (const auto& listener : server_->listening().listeners) {
      if (listener->transport() == transport) return listener->port();
    }
    ADD_FAILURE();
    return 0;
  }
  SipPeer& connect(net::Transport transport) {
    auto& peer = *peers_.emplace_back(std::make_unique<SipPeer>());
    net::connect(loop_.io().get_executor(), {transport, {}, {}}, {"127.0.0.1", port_of(transport)},
                 test::kPatience, read_buffer_,
                 [&](const error_code& error, std::shared_ptr<net::MessageChannel> channel) {
                   EXPECT_FALSE(error) << error.message();
                   peer.channel = std::move(channel);
                 });
    EXPECT_TRUE(loop_.run_until([&] { return peer.channel != nullptr; }));
    peer.channel->start(peer.heard, {sip::kSipFramer});
    return peer;
  }
  bool hears(const SipPeer& peer, std::size_t messages) {
    return loop_.run_until([&] { return peer.heard.messages.size() >= messages; });
  }
  const SipServerCounts& counts() const { return server_->counts(); }

  test::Loop loop_;
  net::ReadBuffer read_buffer_{};
  std::unique_ptr<SipServer> server_;
  std::vector<std::unique_ptr<SipPeer>> peers_;
};

class AnySipServer : public SipServerTest, public testing::WithParamInterface<net::Transport> {};

TEST_P(AnySipServer, AnswersInvitesAndRefusesWhatItDoesNotKnow) {
  auto& peer = connect(GetParam());
  peer.say(request("INVITE", "z9hG4bKa"));
  ASSERT_TRUE(hears(peer, 1));
  EXPECT_TRUE(text_in(peer.heard.messages[0]).starts_with("SIP/2.0 180 Ringing\r\n"));
  EXPECT_EQ(peer.heard.messages[0].size(), 300U);
  peer.say(request("ACK", "z9hG4bKa"));
  peer.say(request("OPTIONS", "z9hG4bKb"));
  ASSERT_TRUE(hears(peer, 2));
  EXPECT_TRUE(text_in(peer.heard.messages[1]).starts_with("SIP/2.0 405 Method Not Allowed\r\n"));
  peer.say("\r\n\r\n");  // keeps the connection alive, and is no message
  peer.say(text_in(peer.heard.messages[0]));
  peer.say(request("OPTIONS", "z9hG4bKc"));
  ASSERT_TRUE(hears(peer, 3));
  EXPECT_EQ(counts().invites, 1U);
  EXPECT_EQ(counts().foreign_invites, 1U);
  EXPECT_EQ(counts().acknowledgements, 1U);
  EXPECT_EQ(counts().other_requests, 2U);
  EXPECT_EQ(counts().stray_responses, 1U);
  EXPECT_EQ(counts().malformed, 0U);
}

INSTANTIATE_TEST_SUITE_P(Over, AnySipServer,
                         testing::Values(net::Transport::kTcp, net::Transport::kUdp),
                         [](const auto& kind) { return net::to_string(kind.param); });

TEST_F(SipServerTest, ACopyGetsTheSameResponseAndAnotherPeerItsOwn) {
  auto& peer = connect(net::Transport::kUdp);
  auto& other = connect(net::Transport::kUdp);
  peer.say(request("INVITE", "z9hG4bKa"));
  peer.say(request("INVITE", "z9hG4bKa"));
  ASSERT_TRUE(hears(peer, 2));
  EXPECT_EQ(peer.heard.messages[0], peer.heard.messages[1]);
  EXPECT_EQ(counts().invites, 1U);
  EXPECT_EQ(counts().copies, 1U);
  // With the branch of another: a transaction of its own, and that one's is as before.
  other.say(request("INVITE", "z9hG4bKa"));
  ASSERT_TRUE(hears(other, 1));
  EXPECT_EQ(counts().invites, 2U);
  peer.say(request("INVITE", "z9hG4bKa"));
  ASSERT_TRUE(hears(peer, 3));
  EXPECT_EQ(counts().copies, 2U);
  EXPECT_EQ(counts().responses, 4U);
}

TEST_F(SipServerTest, APeerThatWasCrowdedOutHasNoSecondTransaction) {
  auto& peer = connect(net::Transport::kUdp);
  const auto invite = request("INVITE", "z9hG4bKa");
  peer.say(invite);
  ASSERT_TRUE(hears(peer, 1));
  // As many others as there may be peers: the oldest of their host has to go.
  std::set<std::uint16_t> ports;
  while (counts().connections <= net::kUdpPeersMax) {
    boost::asio::ip::udp::socket other(loop_.io(), {boost::asio::ip::address_v4::loopback(), 0});
    if (!ports.insert(other.local_endpoint().port()).second) continue;
    const auto before = counts().connections;
    other.send_to(boost::asio::buffer("\r\n", 2),
                  {boost::asio::ip::address_v4::loopback(), port_of(net::Transport::kUdp)});
    ASSERT_TRUE(loop_.run_until([&] { return counts().connections > before; }));
  }
  peer.say(invite);
  ASSERT_TRUE(hears(peer, 2));
  EXPECT_EQ(peer.heard.messages[0], peer.heard.messages[1]);
  EXPECT_EQ(counts().connections, net::kUdpPeersMax + 2) << "it was a stranger";
  EXPECT_EQ(counts().invites, 1U);
  EXPECT_EQ(counts().copies, 1U);
}

TEST_F(SipServerTest, OnlyWhatItTakesHasArrived) {
  auto& peer = connect(net::Transport::kUdp);
  const auto call = [](std::uint32_t run, std::uint32_t number) {
    std::string octets(sip::InviteWriter("UDP", 450, run).size(), '\0');
    sip::InviteWriter("UDP", 450, run).write(number, std::as_writable_bytes(std::span(octets)));
    return octets;
  };
  // An identifier that is too long to keep: 503.
  auto refused = call(1, 7);
  refused.insert(refused.find("a.example;rport"), std::string(sip::kTransactionIdMax, 'a'));
  peer.say(refused);
  ASSERT_TRUE(hears(peer, 1));
  EXPECT_TRUE(text_in(peer.heard.messages[0]).starts_with("SIP/2.0 503 "));
  peer.say(call(2, 5));
  peer.say(call(1, 6));
  peer.say(call(2, 5));
  ASSERT_TRUE(hears(peer, 4));
  EXPECT_EQ(counts().refused, 1U);
  const test::Folder folder("sip-arrivals");
  ASSERT_TRUE(server_->arrivals().write(folder.path + "/arrivals"));
  std::ifstream file(folder.path + "/arrivals");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    const auto time = line.find(',') + 1;
    lines.push_back(line.erase(time, line.find(',', time) - time));
  }
  EXPECT_EQ(lines,
            (std::vector<std::string>{"call,,copies,run", "6,,1,00000001", "5,,2,00000002"}));
}

TEST_F(SipServerTest, DatagramsThatCannotBeReadHarmNobody) {
  auto& hostile = connect(net::Transport::kUdp);
  auto& good = connect(net::Transport::kUdp);
  std::string many = request("INVITE", "z9hG4bKa");
  for (int i = 0; i < 100; ++i) many.insert(many.find("Via"), "X: y\r\n");
  const auto lie = [](const std::string& length) {
    auto text = request("INVITE", "z9hG4bKa");
    return text.replace(text.find("Length: 0"), 9, "Length: " + length);
  };
  const std::vector<std::string> bad = {
      "hello",    std::string(60'000, 'x'),      std::string(1, '\0'), many, lie("1"), lie("-1"),
      lie("1e9"), "INVITE sip:b SIP/2.0\r\n\r\n"};
  for (const auto& text : bad) hostile.say(text);
  ASSERT_TRUE(loop_.run_until([&] { return counts().malformed == bad.size(); }));
  good.say(request("INVITE", "z9hG4bKb"));
  ASSERT_TRUE(hears(good, 1));
  EXPECT_EQ(counts().invites, 1U);
  EXPECT_TRUE(hostile.heard.messages.empty());
  // And the hostile one is heard as soon as it makes sense.
  hostile.say(request("INVITE", "z9hG4bKc"));
  EXPECT_TRUE(hears(hostile, 1));
}

TEST_F(SipServerTest, AStreamWithoutLengthsIsClosedAndOthersGoOn) {
  auto& good = connect(net::Transport::kTcp);
  auto without = request("INVITE", "z9hG4bKa");
  without.erase(without.find("Content-Length"), 19);
  std::string many = "INVITE sip:b@b.example SIP/2.0\r\n";
  for (int i = 0; i < 100'000; ++i) many += "X: y\r\n";
  auto lie = request("INVITE", "z9hG4bKa");
  lie.replace(lie.find("Length: 0"), 9, "Length: -1");
  std::uint64_t malformed = 0;
  for (const auto& text : {without, many, lie, std::string(20'000, 'x')}) {
    auto& hostile = connect(net::Transport::kTcp);
    hostile.say(text);
    ASSERT_TRUE(loop_.run_until([&] { return hostile.heard.closed == 1; }));
    EXPECT_EQ(counts().malformed, ++malformed);
  }
  good.say(request("INVITE", "z9hG4bKb"));
  EXPECT_TRUE(hears(good, 1));
  EXPECT_EQ(counts().invites, 1U);
}

// --- The client ----------------------------------------------------------------------------------

/// The generator's view.
class Ends final : public Client::Observer {
 public:
  void on_ready(Client&) override { ready = true; }
  void on_ended(Client&, TransactionKey key, Ending ending) override {
    EXPECT_TRUE(ended.emplace(key.value, ending).second) << "twice";
  }
  void on_turn(Client&) override {}
  void on_down(Client&, const error_code&) override { ++downs; }

  std::map<std::uint64_t, Ending> ended;
  bool ready = false;
  int downs = 0;
};

class SipClientTest : public testing::Test {
 protected:
  ~SipClientTest() override {
    client_.reset();
    if (server_.channel) server_.channel->detach();
    server_.channel.reset();
    loop_.watch(std::chrono::milliseconds(5));
    listening_.listeners.clear();
  }

  /// Connects a client to a server that sends only the test's messages.
  void start(net::Transport transport, SipResponse response, std::chrono::milliseconds t1) {
    net::ListenOptions listen;
    listen.transports = {transport};
    listen.port = 0;
    listening_ = net::listen(
        loop_.io().get_executor(), listen, read_buffer_,
        [this](std::shared_ptr<net::MessageChannel> channel) {
          server_.channel = std::move(channel);
          server_.channel->start(server_.heard, {sip::kSipFramer});
        },
        [](const error_code&) {});
    ConnectionOptions options;
    options.target = {"127.0.0.1", listening_.listeners.front()->port()};
    options.transport.transport = transport;
    client_ = std::make_unique<SipClient>(loop_.io().get_executor(), read_buffer_, options,
                                          SipClient::Options{450, 3, 5000, response, t1}, ends_);
    client_->open();
    ASSERT_TRUE(loop_.run_until([&] { return ends_.ready; }));
  }
  void invite(std::uint64_t number) {
    ASSERT_TRUE(client_->send(number));
    client_->flush();
  }
  bool hears(std::size_t messages) {
    return loop_.run_until([&] { return server_.heard.messages.size() >= messages; });
  }
  /// Answers the message that the server heard at that place.
  void answer(std::size_t place, const ResponseKind& kind) {
    const auto text = text_in(server_.heard.messages.at(place));
    const auto message = sip::parse_message(text);
    ASSERT_TRUE(message);
    server_.say(sip::make_response(*message, kind, {"127.0.0.1", 1}, 0));
  }
  std::uint64_t tally(std::string_view name) const {
    for (const auto& one : client_->tallies()) {
      if (name == one.name) return one.count;
    }
    ADD_FAILURE() << name;
    return 0;
  }
  bool counts(std::string_view name, std::uint64_t count) {
    return loop_.run_until([&] { return tally(name) == count; });
  }

  test::Loop loop_;
  net::ReadBuffer read_buffer_{};
  net::Listening listening_;
  SipPeer server_;
  Ends ends_;
  std::unique_ptr<SipClient> client_;
};

constexpr ResponseKind kTrying{100, "Trying"};
constexpr ResponseKind kRinging{180, "Ringing"};
constexpr std::chrono::hours kNoTimer{1};

TEST_F(SipClientTest, ALostInviteIsSentAgainUnchanged) {
  start(net::Transport::kUdp, SipResponse::kRinging, std::chrono::milliseconds(1));
  invite(0);
  ASSERT_TRUE(hears(3));
  EXPECT_EQ(server_.heard.messages[0], server_.heard.messages[2]);
  EXPECT_TRUE(ends_.ended.empty() || ends_.ended.at(0).outcome == Outcome::kTimedOut);
  // T1 is a millisecond: Timer B comes by itself.
  ASSERT_TRUE(loop_.run_until([&] { return ends_.ended.contains(0); }));
  EXPECT_EQ(ends_.ended.at(0).outcome, Outcome::kTimedOut);
  EXPECT_EQ(tally("retransmissions"), 6U);
  EXPECT_TRUE(hears(7));
}

TEST_F(SipClientTest, RingingEndsATransactionAndTryingTheRetransmissions) {
  start(net::Transport::kUdp, SipResponse::kRinging, std::chrono::milliseconds(20));
  invite(0);
  ASSERT_TRUE(hears(1));
  answer(0, kTrying);
  // Copies that have left before Trying is heard arrive, but no further ones follow.
  std::size_t copies = 0;
  while (copies != server_.heard.messages.size()) {
    copies = server_.heard.messages.size();
    loop_.watch();
  }
  loop_.watch(std::chrono::seconds(1));  // longer than from any copy to the next one
  EXPECT_EQ(server_.heard.messages.size(), copies);
  EXPECT_TRUE(ends_.ended.empty());
  answer(0, kRinging);
  ASSERT_TRUE(loop_.run_until([&] { return ends_.ended.contains(0); }));
  EXPECT_EQ(ends_.ended.at(0).outcome, Outcome::kCompleted);
}

TEST_F(SipClientTest, TryingIsEnoughIfThatIsWaitedFor) {
  start(net::Transport::kTcp, SipResponse::kTrying, kNoTimer);
  invite(0);
  ASSERT_TRUE(hears(1));
  answer(0, kTrying);
  ASSERT_TRUE(loop_.run_until([&] { return ends_.ended.contains(0); }));
  answer(0, kRinging);
  EXPECT_TRUE(counts("late_responses", 1));
}

TEST_F(SipClientTest, FinalResponsesAreAcknowledgedEachTime) {
  start(net::Transport::kUdp, SipResponse::kRinging, kNoTimer);
  invite(0);
  invite(1);
  ASSERT_TRUE(hears(2));
  answer(0, {200, "OK"});
  ASSERT_TRUE(loop_.run_until([&] { return ends_.ended.contains(0); }));
  EXPECT_EQ(ends_.ended.at(0).outcome, Outcome::kCompleted);
  answer(1, {486, "Busy Here"});
  ASSERT_TRUE(loop_.run_until([&] { return ends_.ended.contains(1); }));
  EXPECT_EQ(ends_.ended.at(1).outcome, Outcome::kRefused);
  EXPECT_EQ(ends_.ended.at(1).code, RefusalCode{486});
  ASSERT_TRUE(hears(4));
  answer(1, {486, "Busy Here"});
  ASSERT_TRUE(hears(5));
  for (const std::size_t place : {2U, 3U, 4U}) {
    EXPECT_TRUE(text_in(server_.heard.messages[place]).starts_with("ACK ")) << place;
  }
  EXPECT_EQ(server_.heard.messages[3], server_.heard.messages[4]);
  EXPECT_EQ(tally("acknowledgements"), 3U);
  EXPECT_EQ(tally("late_responses"), 1U);
}

TEST_F(SipClientTest, WhatBelongsToNoCallIsCountedAndChangesNothing) {
  start(net::Transport::kUdp, SipResponse::kRinging, kNoTimer);
  invite(0);
  ASSERT_TRUE(hears(1));
  const auto invite_text = text_in(server_.heard.messages[0]);
  const auto message = sip::parse_message(invite_text);
  ASSERT_TRUE(message);
  const auto ringing = sip::make_response(*message, kRinging, {"127.0.0.1", 1}, 0);
  auto other_branch = ringing;
  other_branch.replace(other_branch.find("z9hG4bK"), 7, "z9hG4bX");
  auto other_call = ringing;
  const auto number = other_call.find("z9hG4bK") + 7 + 8;
  other_call.replace(number, 8, "00000001");
  auto other_method = ringing;
  other_method.replace(other_method.find("1 INVITE"), 8, "1 CANCEL");
  server_.say(other_branch);
  server_.say(other_call);
  server_.say(other_method);
  server_.say(request("BYE", "z9hG4bKa"));
  server_.say("no SIP");
  ASSERT_TRUE(counts("stray_messages", 4));
  ASSERT_TRUE(counts("malformed_messages", 1));
  EXPECT_TRUE(ends_.ended.empty());
  server_.say(ringing);
  ASSERT_TRUE(loop_.run_until([&] { return ends_.ended.contains(0); }));
  server_.say(ringing);
  EXPECT_TRUE(counts("late_responses", 1));
  EXPECT_EQ(ends_.downs, 0);
}

TEST_F(SipClientTest, WhatIsGivenUpLeavesRoomForOthers) {
  start(net::Transport::kTcp, SipResponse::kRinging, kNoTimer);
  for (std::uint64_t number = 0; number < sip::kClientTransactionsMax; ++number) {
    ASSERT_TRUE(loop_.run_until([&] { return !client_->full(); })) << number;
    invite(number);
  }
  ASSERT_TRUE(hears(sip::kClientTransactionsMax));
  ASSERT_TRUE(client_->full());
  // 100 and nothing more: neither Timer A nor Timer B ends it.
  answer(0, kTrying);
  answer(1, kRinging);
  ASSERT_TRUE(loop_.run_until([&] { return ends_.ended.contains(1); }));
  invite(sip::kClientTransactionsMax);
  ASSERT_TRUE(client_->full());
  client_->forget(TransactionKey{0});
  EXPECT_FALSE(client_->full());
  answer(0, kRinging);
  EXPECT_TRUE(counts("late_responses", 1));
  EXPECT_FALSE(ends_.ended.contains(0));
}

TEST_F(SipClientTest, TheEndIsInOrder) {
  start(net::Transport::kTcp, SipResponse::kNone, kNoTimer);
  invite(0);
  client_->finish();
  ASSERT_TRUE(loop_.run_until([&] { return server_.heard.closed == 1; }));
  EXPECT_EQ(server_.heard.messages.size(), 1U);
  EXPECT_EQ(ends_.downs, 0) << "before it has heard of the server's end";
  ASSERT_TRUE(loop_.run_until([&] { return ends_.downs == 1; }));
}

TEST_F(SipClientTest, EveryThirdInviteIsALargeOne) {
  start(net::Transport::kTcp, SipResponse::kNone, kNoTimer);
  for (std::uint64_t number = 0; number < 6; ++number) invite(number);
  ASSERT_TRUE(hears(6));
  for (std::size_t place = 0; place < 6; ++place) {
    EXPECT_EQ(server_.heard.messages[place].size(), place % 3 == 2 ? 5000U : 450U) << place;
  }
}

TEST_F(SipClientTest, AStreamThatIsNoSipEndsTheConnection) {
  start(net::Transport::kTcp, SipResponse::kRinging, kNoTimer);
  invite(0);
  ASSERT_TRUE(hears(1));
  server_.say(std::string(10'000, 'x'));
  EXPECT_TRUE(loop_.run_until([&] { return ends_.downs == 1; }));
}

}  // namespace
}  // namespace simco::loadgen
