// Repeated requests over a network that loses packets: a transport with streams, an agent's link, a
// middlebox.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <set>
#include <tuple>

#include "agent/link.hpp"
#include "middlebox/backend/null_backend.hpp"
#include "middlebox/serve/server.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/figures.hpp"
#include "tests/support/loop.hpp"
#include "tests/support/sctp_stacks.hpp"
#include "tests/support/udp_relay.hpp"

namespace simco {
namespace {

using namespace std::chrono_literals;

/// Keeps `kWindow` PER requests under way until told to stop, and remembers what it is told.
class PinholeSource final : public agent::Link::Observer {
 public:
  static constexpr std::size_t kWindow = 8;

  void fill() {
    while (wanted && waiting.size() < kWindow) {
      const auto tid = link->request(test::pinhole(next_port_++, 3600));
      if (!tid) return;
      waiting.insert(*tid);
    }
    link->flush();
  }
  void on_open(const Capabilities&) override { fill(); }
  void on_reply(TransactionId tid, const Body& body) override {
    EXPECT_EQ(waiting.erase(tid), 1U) << "a second reply to " << tid.value;
    if (const auto* per = std::get_if<PerReply>(&body)) made.insert(per->pid);
    if (const auto* list = std::get_if<PrlReply>(&body)) {
      listed.emplace();
      for (std::size_t i = 0; i < list->pids.size(); ++i) listed->insert(list->pids[i]);
    }
  }
  void on_rule_event(PolicyRuleId, Lifetime) override {}
  void on_turn() override { fill(); }
  void on_down(const boost::system::error_code& reason) override { ended = reason; }

  agent::Link* link = nullptr;
  bool wanted = true;
  std::set<TransactionId> waiting;
  std::set<PolicyRuleId> made;
  std::optional<std::set<PolicyRuleId>> listed;
  std::optional<boost::system::error_code> ended;

 private:
  std::uint16_t next_port_ = 1;
};

/// A transport, and the seed of what is lost.
using LossyNetwork = std::tuple<net::Transport, std::uint32_t>;

class Repetition : public testing::TestWithParam<LossyNetwork> {
 protected:
  middlebox::ServerOptions keeping(std::uint32_t replies) const {
    middlebox::ServerOptions options;
    options.replies_kept = replies;
    options.listen.transports = {transport_};
    options.listen.port = 0;
    options.listen.settings.sctp = test::middlebox_options(net::SctpStack::kUserland);
    options.listen.settings.sctp.streams = 16;
    if (over_quic()) options.listen.tls = test::load_tls(net::TlsSide::kMiddlebox, files_);
    return options;
  }
  bool over_quic() const { return transport_ == net::Transport::kQuic; }
  void serve(std::uint32_t replies_kept) {
    const auto options = keeping(replies_kept);
    server_.emplace(loop_.io(), options, backend_);
    server_->start();
    const auto port = server_->ports().front();
    const auto udp_port = over_quic() ? port : options.listen.settings.sctp.udp_encaps;
    relay_.emplace(loop_.io(), udp_port,
                   test::UdpRelay::Behaviour{4ms, 0.05, std::get<1>(GetParam())});
    net::TransportOptions transport{transport_, options.listen.settings, {}};
    transport.settings.sctp.udp_encaps = relay_->port();
    if (over_quic()) transport.tls = test::load_tls(net::TlsSide::kAgent, files_);
    link_.emplace(loop_.io().get_executor(), read_buffer_, source_, AgentSession::Authentication{},
                  transport, 1.2);
    source_.link = &*link_;
    link_->open({"127.0.0.1", over_quic() ? relay_->port() : port}, test::kPatience);
  }
  /// Lets everything that is under way come to its end.
  bool calm() {
    source_.wanted = false;
    return loop_.run_until([&] { return source_.waiting.empty(); });
  }
  /// The middlebox's rules.
  std::set<PolicyRuleId> list() {
    source_.listed.reset();
    source_.waiting.insert(link_->request(PrlRequest{}).value());
    link_->flush();
    EXPECT_TRUE(loop_.run_until([&] { return source_.listed.has_value(); }));
    return source_.listed.value_or(std::set<PolicyRuleId>{});
  }

  const net::Transport transport_ = std::get<0>(GetParam());
  const test::Authority authority_;
  const net::TlsFiles files_ = authority_.issue("both", "IP:127.0.0.1");
  test::Loop loop_;
  net::ReadBuffer read_buffer_{};
  backend::NullBackend backend_;
  std::optional<middlebox::Server> server_;
  std::optional<test::UdpRelay> relay_;
  PinholeSource source_;
  std::optional<agent::Link> link_;
};

TEST_P(Repetition, IsAnsweredWithoutASecondRule) {
  serve(1024);
  ASSERT_TRUE(loop_.run_until(
      [&] { return link_->repeater() != nullptr && link_->repeater()->repeated() >= 20; }));
  ASSERT_TRUE(calm());
  EXPECT_FALSE(source_.ended);
  EXPECT_EQ(link_->repeater()->strays(), 0U);
  EXPECT_EQ(list(), source_.made);
}

TEST_P(Repetition, LeavesNoRuleBehindInAMiddleboxThatDoesNotKnowIt) {
  serve(0);
  ASSERT_TRUE(loop_.run_until(
      [&] { return link_->repeater() != nullptr && link_->repeater()->strays() >= 1; }));
  ASSERT_TRUE(calm());
  // Copies that were sent before that may still arrive, and are ended likewise.
  EXPECT_TRUE(loop_.run_until([&] { return list() == source_.made; }));
}

std::string name_of_network(const testing::TestParamInfo<LossyNetwork>& info) {
  return std::string(net::to_string(std::get<0>(info.param))) +
         std::to_string(std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(Sctp, Repetition,
                         testing::Combine(testing::Values(net::Transport::kSctp),
                                          testing::Range(1U, 4U)),
                         name_of_network);
#ifdef SIMCO_QUIC
INSTANTIATE_TEST_SUITE_P(Quic, Repetition,
                         testing::Combine(testing::Values(net::Transport::kQuic),
                                          testing::Range(1U, 4U)),
                         name_of_network);
#endif

}  // namespace
}  // namespace simco
