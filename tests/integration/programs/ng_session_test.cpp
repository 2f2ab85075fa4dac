// simco-ng as a process, its session with a middlebox and its log, without packets.
#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>
#include <nlohmann/json.hpp>
#include <string_view>
#include <thread>

#include "tests/support/folder.hpp"
#include "tests/support/ng_reply.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/pipe.hpp"
#include "tests/support/program.hpp"

namespace simco::test {
namespace {

using boost::asio::ip::udp;
using nlohmann::json;

constexpr int kPatienceMs = std::chrono::milliseconds(kPatience).count();

/// A proxy on this machine, one request after the other.
class LocalProxy {
 public:
  explicit LocalProxy(std::uint16_t port)
      : to_(boost::asio::ip::address_v4::loopback(), port),
        socket_(io_, udp::endpoint(boost::asio::ip::address_v4::loopback(), 0)) {}

  json ask(const json& request) {
    return reply_in_time([&] { return ask_once(request); });
  }
  json ask_once(const json& request) {
    const auto cookie = std::to_string(++cookies_) + " ";
    socket_.send_to(boost::asio::buffer(cookie + request.dump()), to_);
    std::string reply(70'000, 0);
    do {
      reply.resize(70'000);
      reply.resize(socket_.receive(boost::asio::buffer(reply)));
    } while (!reply.starts_with(cookie));
    return json::parse(reply.substr(cookie.size()));
  }
  json offer(int call) { return ask(offer_of(call)); }
  int requests() const { return cookies_; }
  void send_offer(int call) {
    const auto cookie = std::to_string(++cookies_) + " ";
    socket_.send_to(boost::asio::buffer(cookie + offer_of(call).dump()), to_);
  }
  /// Sends an empty datagram.
  void end(const udp::endpoint& at) { socket_.send_to(boost::asio::const_buffer(), at); }
  /// Makes room for so many replies; false without the right to.
  bool hold(int replies) {
    const int octets = replies * 2048;
    return ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_RCVBUFFORCE, &octets,
                        sizeof octets) == 0;
  }
  /// Takes replies until there are `wanted`, or none comes any more. Returns how many.
  int replies(int wanted) {
    int count = 0;
    std::string reply(70'000, 0);
    for (; count < wanted; ++count) {
      pollfd ready{socket_.native_handle(), POLLIN, 0};
      if (::poll(&ready, 1, kPatienceMs) != 1) break;
      socket_.receive(boost::asio::buffer(reply));
    }
    return count;
  }

 private:
  static json offer_of(int call) {
    return {{"command", "offer"},
            {"call-id", std::to_string(call)},
            {"from-tag", "a"},
            {"sdp", "v=0\r\nc=IN IP4 10.0.0.5\r\nm=audio 6000 RTP/AVP 0\r\n"}};
  }

  boost::asio::io_context io_;
  udp::endpoint to_;
  udp::socket socket_;
  int cookies_ = 0;
};

/// The number behind `words`.
std::uint16_t port_after(const std::string& text, const std::string& words) {
  return static_cast<std::uint16_t>(std::stoi(text.substr(text.find(words) + words.size())));
}

Words ng_words(Program& box) {
  return {"simco-ng",
          "--listen",
          "127.0.0.1:0",
          "--internal",
          "10.0.0.0/8",
          "--middlebox",
          "127.0.0.1:" + std::to_string(box.listening_port())};
}

// A log collector that hangs, or ends, is no reason to stand still.
TEST(NgSession, NobodyWaitsForStandardError) {
  const Folder folder("ng-stderr");
  const auto path = folder.file("pipe");
  Program box({"simco-middlebox", "--port", "0"});
  Pipe pipe(path);
  Program ng({"/bin/sh", "-c",
              "exec " SIMCO_BIN_DIR "/simco-ng --listen 127.0.0.1:0 --internal 10.0.0.0/8 "
              "--middlebox 127.0.0.1:" +
                  std::to_string(box.listening_port()) + " 2>" + path});
  const auto text = pipe.read_until(": firewall");
  LocalProxy proxy(port_after(text, "listening on udp 127.0.0.1:"));
  pipe.fill();
  // A line of the log for each call: more than the pipe and the queue hold.
  int calls = 0;
  for (; calls < 8000; ++calls) ASSERT_EQ(proxy.offer(calls).at("result"), "ok");
  // What is lost is said as soon as somebody reads again, and something is logged.
  std::atomic<bool> heard = false;
  std::thread reader([&] {
    pipe.read_until("log lines were lost");
    heard = true;
  });
  for (; !heard && calls < 80'000; ++calls) EXPECT_EQ(proxy.offer(calls).at("result"), "ok");
  reader.join();
  pipe.close();
  EXPECT_EQ(proxy.offer(calls).at("result"), "ok");
  ng.signal(SIGTERM);
  EXPECT_EQ(ng.wait(), 0);
}

// UDP over IPv4 carries 65,507 octets.
TEST(NgSession, AReplyThatIsTooLongForADatagramIsAnError) {
  Program box({"simco-middlebox", "--port", "0"});
  Program ng(ng_words(box));
  ASSERT_TRUE(ng.says(": firewall"));
  LocalProxy proxy(ng.listening_port("udp"));
  const std::string padding(900, 'x');
  for (int i = 0; i < 100; ++i) {
    const json offer = {{"command", "offer"},
                        {"call-id", padding + std::to_string(i)},
                        {"from-tag", "a"},
                        {"sdp", "v=0\r\n"}};
    ASSERT_EQ(proxy.ask(offer).at("result"), "ok");
  }
  EXPECT_EQ(proxy.ask({{"command", "list"}, {"limit", 32}}).at("calls").size(), 32U);
  EXPECT_EQ(proxy.ask({{"command", "list"}, {"limit", 100}}).at("error-reason"),
            "The reply is longer than a datagram");
}

// A media proxy keeps replies by their cookies for a while: a simco-ng that has just started must
// not get those of the one before.
TEST(NgSession, TheMediaProxyGetsOtherCookiesAfterARestart) {
  Program box({"simco-middlebox", "--port", "0"});
  boost::asio::io_context io;
  udp::socket upstream(io, udp::endpoint(boost::asio::ip::address_v4::loopback(), 0));
  std::vector<std::string> cookies;
  for (int i = 0; i < 2; ++i) {
    Program ng(
        ng_words(box) +
        Words{"--upstream", "127.0.0.1:" + std::to_string(upstream.local_endpoint().port())});
    ASSERT_TRUE(ng.says(": firewall"));
    LocalProxy proxy(ng.listening_port("udp"));
    std::vector<std::string> asked;
    std::thread media_proxy([&] {
      std::array<char, 2048> request;
      udp::endpoint from;
      while (const auto size = upstream.receive_from(boost::asio::buffer(request), from)) {
        const std::string_view text(request.data(), size);
        asked.emplace_back(text.substr(0, text.find(' ')));
        upstream.send_to(boost::asio::buffer(asked.back() + R"( {"result":"pong"})"), from);
      }
    });
    EXPECT_EQ(proxy.ask({{"command", "ping"}}).at("result"), "pong");
    proxy.end(upstream.local_endpoint());
    media_proxy.join();
    cookies.push_back(asked.at(0));
    ng.signal(SIGTERM);
    EXPECT_EQ(ng.wait(), 0);
  }
  EXPECT_NE(cookies[0], cookies[1]);
}

// All at once: they wait in the socket until simco-ng goes on.
TEST(NgSession, ABurstOfOffersIsAnswered) {
  constexpr int kOffers = 5'000;
  Program box({"simco-middlebox", "--port", "0"});
  Program ng(ng_words(box));
  LocalProxy proxy(ng.listening_port("udp"));
  if (!proxy.hold(kOffers)) GTEST_SKIP() << "this machine: no right to large receive buffers";
  EXPECT_TRUE(eventually([&] { return proxy.offer(0).at("result") == "ok"; }));
  ng.signal(SIGSTOP);
  for (int call = 1; call <= kOffers; ++call) proxy.send_offer(call);
  ng.signal(SIGCONT);
  EXPECT_EQ(proxy.replies(kOffers), kOffers);
}

TEST(NgSession, TellsItsFigures) {
  Program box({"simco-middlebox", "--port", "0"});
  Program ng(ng_words(box));
  ASSERT_TRUE(ng.says(": firewall"));
  EXPECT_TRUE(ng.says("give --strict-source"));
  LocalProxy proxy(ng.listening_port("udp"));
  proxy.offer(1);
  const int offers = proxy.requests();
  const auto reply = proxy.ask({{"command", "statistics"}});
  EXPECT_EQ(reply.at("statistics").at("currentstatistics").at("sessionsown"), 1);
  // An offer that is repeated may begin the call anew.
  const int calls = reply.at("statistics").at("totalstatistics").at("managedsessions");
  EXPECT_GE(calls, 1);
  EXPECT_LE(calls, offers);
}

TEST(NgSession, AReloadSaysWhatTakesARestart) {
  const Folder folder{"ng-reload"};
  const auto configure = [&](const std::string& more) {
    return folder.write("ng.toml",
                        "internal = [\"10.0.0.0/8\"]\nlisten = \"127.0.0.1:0\"\n" + more);
  };
  Program ng({"simco-ng", "--config", configure("upstream = \"127.0.0.1:9\"\nlifetime = 30\n")});
  ASSERT_TRUE(ng.says("listening on udp "));
  // What was in the file and is no longer has changed as well.
  configure("state = \"" + folder.file("calls.db") + "\"\n");
  ng.signal(SIGHUP);
  EXPECT_TRUE(ng.says("--upstream has changed: restart to apply it"));
  EXPECT_TRUE(ng.says("--state has changed: restart to apply it"));
  EXPECT_TRUE(ng.says("configuration reloaded"));
  EXPECT_FALSE(ng.err().contains("--lifetime has changed"));
  EXPECT_FALSE(ng.err().contains("--listen has changed"));
}

}  // namespace
}  // namespace simco::test
