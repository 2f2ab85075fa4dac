#include "tests/unit/net/channel_pairs.hpp"

#include "simco/net/connector.hpp"
#include "simco/net/listener.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/loop.hpp"
#include "tests/support/memory_channel.hpp"
#include "tests/support/sctp_stacks.hpp"

namespace simco::net {
namespace {

using boost::system::error_code;

/// Over the loopback interface, by listen() and connect().
class SocketPair final : public ChannelPair {
 public:
  SocketPair(ListenOptions listen, const TransportOptions& transport) {
    listen.transports = {transport.transport};
    listen.port = 0;
    listening_ = net::listen(
        loop_.io().get_executor(), listen, read_buffer_,
        [this](std::shared_ptr<MessageChannel> channel) { far = std::move(channel); },
        [](const error_code& error) { ADD_FAILURE() << error.message(); });
    bool answered = false;
    net::connect(loop_.io().get_executor(), transport,
                 HostPort{"127.0.0.1", listening_.listeners.front()->port()}, test::kPatience,
                 read_buffer_,
                 [&](const error_code& error, std::shared_ptr<MessageChannel> channel) {
                   EXPECT_FALSE(error) << error.message();
                   near = std::move(channel);
                   answered = true;
                 });
    loop_.run_until([&] { return answered && (far || !near); });
  }
  ~SocketPair() override {
    near.reset();
    far.reset();
    loop_.watch(std::chrono::milliseconds(20));
    listening_.listeners.clear();
  }

  bool run_until(const std::function<bool()>& done) override { return loop_.run_until(done); }
  void watch() override { loop_.watch(); }

 private:
  test::Loop loop_;
  ReadBuffer read_buffer_{};
  Listening listening_;
};

class MemoryPair final : public ChannelPair {
 public:
  explicit MemoryPair(const test::MemoryPath& path) {
    std::tie(near, far) = test::MemoryChannel::make_pair(time_, path);
  }
  ~MemoryPair() override {
    near.reset();
    far.reset();
  }

  bool run_until(const std::function<bool()>& done) override { return time_.run_until(done); }
  void watch() override { time_.run_for(std::chrono::seconds(1)); }

 private:
  test::VirtualTime time_;
};

std::unique_ptr<ChannelPair> over_tcp() {
  return std::make_unique<SocketPair>(ListenOptions{}, TransportOptions{});
}

/// With certificates at both ends.
std::unique_ptr<ChannelPair> certified(Transport over) {
  static const test::Authority authority;
  static const auto middlebox = authority.issue("middlebox", "IP:127.0.0.1");
  static const auto agent = authority.issue("agent", "DNS:agent");
  ListenOptions listen;
  listen.tls = test::load_tls(TlsSide::kMiddlebox, middlebox);
  TransportOptions transport;
  transport.transport = over;
  transport.tls = test::load_tls(TlsSide::kAgent, agent);
  return std::make_unique<SocketPair>(listen, transport);
}

std::unique_ptr<ChannelPair> over_sctp(const test::SctpStacks& stacks) {
  ListenOptions listen;
  listen.settings.sctp = test::middlebox_options(stacks.middlebox);
  return std::make_unique<SocketPair>(
      listen,
      TransportOptions{Transport::kSctp, {test::agent_options(stacks, listen.settings.sctp)}, {}});
}

ChannelKind sctp_kind(const char* name, SctpStack agent, SctpStack middlebox) {
  return {name, [=] { return over_sctp({name, agent, middlebox}); }};
}

std::unique_ptr<ChannelPair> in_memory(Transport transport) {
  test::MemoryPath path;
  path.transport = transport;
  path.streams = 16;
  path.segment = 1400;
  path.delay = [] { return std::chrono::milliseconds(1); };
  return std::make_unique<MemoryPair>(path);
}

}  // namespace

std::vector<ChannelKind> channel_kinds() {
  return {{"Tcp", over_tcp},
          {"Tls", [] { return certified(Transport::kTcp); }},
#ifdef SIMCO_QUIC
          {"Quic", [] { return certified(Transport::kQuic); }},
#endif
          sctp_kind("SctpUserland", SctpStack::kUserland, SctpStack::kUserland),
          {"MemoryStream", [] { return in_memory(Transport::kTcp); }},
          {"MemoryAssociation", [] { return in_memory(Transport::kSctp); }}};
}

std::vector<ChannelKind> kernel_channel_kinds() {
  using enum SctpStack;
  return {sctp_kind("Sctp", kKernel, kKernel), sctp_kind("SctpUserlandAgent", kUserland, kKernel),
          sctp_kind("SctpUserlandMiddlebox", kKernel, kUserland)};
}

}  // namespace simco::net
