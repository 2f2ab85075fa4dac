// TLS between agent and middlebox: whose certificate says what, what is refused and how, and what a
// reload changes.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <boost/asio/read.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/asio/write.hpp>
#include <deque>
#include <thread>

#include "agent/agent.hpp"
#include "simco/net/limits.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/figures.hpp"
#include "tests/support/loop.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/port.hpp"
#include "tests/support/server_thread.hpp"

namespace simco::test {
namespace {

namespace asio = boost::asio;
using asio::use_future;
using boost::system::error_code;
using boost::system::system_error;
using middlebox::Require;
using middlebox::ServerOptions;
using net::TlsSide;

/// An agent on a thread of its own.
class Caller {
 public:
  explicit Caller(const agent::Agent::Options& options)
      : thread_([this] { io_.run(); }), agent_(io_.get_executor(), options) {}
  ~Caller() {
    asio::post(io_, [this] { work_.reset(); });
    io_.stop();
    thread_.join();
  }
  agent::Agent* operator->() { return &agent_; }
  /// Why no session opens with the middlebox at that port, if none does.
  error_code open(std::uint16_t port, const std::string& host = "127.0.0.1") {
    try {
      agent_.open({host, port}, use_future).get();
      return {};
    } catch (const system_error& failure) {
      return failure.code();
    }
  }
  std::string owner() {
    const auto rule = agent_.enable(pinhole(5004, kLongLifetimeS), use_future).get();
    return agent_.status(rule.pid, use_future).get().owner;
  }

 private:
  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  std::thread thread_;
  agent::Agent agent_;
};

class Tls : public testing::Test {
 protected:
  const Authority authority;
  const net::TlsFiles box_files = authority.issue("box", "IP:127.0.0.1,DNS:box.example");

  /// A middlebox that knows `proxy1`, and what it can be named in.
  ServerOptions options(Require require, const std::vector<std::string>& named = {"proxy1"}) const {
    ServerOptions result;
    result.require = require;
    result.audit_rate = 0;
    result.listen.tls = load_tls(TlsSide::kMiddlebox, box_files);
    result.directory = {};
    for (const auto& name : named) {
      policy::AgentPolicy policy;
      policy.name = name;
      policy.has_certificate = true;
      result.directory.add(policy);
    }
    return result;
  }
  static agent::Agent::Options with(const net::TlsFiles& files, const std::string& name = {}) {
    agent::Agent::Options result;
    result.transport.tls = load_tls(TlsSide::kAgent, files);
    result.transport.tls_name = name;
    return result;
  }
  static error_code refusal(NegativeReplyCode code) { return agent::make_reply_error(code); }
};

TEST_F(Tls, AlternativeNamesGoBeforeTheCommonName) {
  ServerThread server(options(Require::kTls, {"sip:one@example.org", "two.example", "common"}));
  const auto owner = [&](const std::string& common, const std::string& names) {
    Caller caller(with(authority.issue(common, names)));
    const auto error = caller.open(server.port());
    return error ? error.message() : caller.owner();
  };
  EXPECT_EQ(owner("common", "DNS:nobody.example,DNS:two.example"), "two.example");
  EXPECT_EQ(owner("other", "URI:sip:one@example.org"), "sip:one@example.org");
  EXPECT_EQ(owner("common", "IP:192.0.2.1"), "common");
  EXPECT_EQ(owner("common", "DNS:nobody.example"),
            refusal(NegativeReplyCode::kNoAuthorization).message());
}

TEST_F(Tls, WithoutItThereIsNoSessionWhereItIsRequired) {
  ServerThread server(options(Require::kTls));
  Caller plain({});
  EXPECT_EQ(plain.open(server.port()), refusal(NegativeReplyCode::kSecurityInsufficient));
  // The same for one that could authenticate.
  agent::Agent::Options credentials;
  credentials.credentials = Credentials{"proxy1", "sesame"};
  Caller proxy(credentials);
  EXPECT_EQ(proxy.open(server.port()), refusal(NegativeReplyCode::kSecurityInsufficient));
}

TEST_F(Tls, ASessionOverSctpHasNone) {
  auto sctp = options(Require::kTls);
  sctp.listen.transports = {net::Transport::kSctp};
  sctp.listen.settings.sctp.stack = net::SctpStack::kUserland;
  sctp.listen.settings.sctp.udp_encaps = free_port();
  agent::Agent::Options way;
  way.transport.transport = net::Transport::kSctp;
  way.transport.settings.sctp = sctp.listen.settings.sctp;
  asio::io_context io;
  backend::NullBackend backend;
  sctp.listen.port = 0;
  middlebox::Server server(io, sctp, backend);
  server.start();
  agent::Agent caller(io.get_executor(), way);
  std::optional<error_code> outcome;
  caller.open({"127.0.0.1", server.ports().front()},
              [&](const error_code& error, const Capabilities&) { outcome = error; });
  while (!outcome && io.run_one_for(kPatience) != 0) {
  }
  EXPECT_EQ(outcome, refusal(NegativeReplyCode::kSecurityInsufficient));
}

TEST_F(Tls, ProofIsAskedForWhereItIsRequired) {
  auto demanding = options(Require::kSa);
  policy::AgentPolicy anybody;
  anybody.name = "anonymous";
  demanding.directory.add(anybody);
  {
    // Nobody has a secret, so only a certificate will do.
    ServerThread server(demanding);
    Caller plain({});
    EXPECT_EQ(plain.open(server.port()), refusal(NegativeReplyCode::kSecurityInsufficient));
    Caller certified(with(authority.issue("proxy1")));
    EXPECT_EQ(certified.open(server.port()), error_code());
  }
  policy::AgentPolicy knower;
  knower.name = "proxy2";
  knower.secret = "sesame";
  demanding.directory.add(knower);
  ServerThread server(demanding);
  Caller plain({});
  EXPECT_EQ(plain.open(server.port()), agent::AgentError::kAuthenticationNeeded);
  agent::Agent::Options credentials;
  credentials.credentials = Credentials{"proxy2", "sesame"};
  Caller proxy(credentials);
  EXPECT_EQ(proxy.open(server.port()), error_code());
  // A certificate whose name nobody knows proves nothing, but SA goes over TLS too.
  auto both = with(authority.issue("stranger"));
  both.credentials = credentials.credentials;
  Caller stranger(both);
  ASSERT_EQ(stranger.open(server.port()), error_code());
  EXPECT_EQ(stranger.owner(), "proxy2");
  // What is open to all without `require` is closed here, over TLS or not.
  Caller unknown(with(authority.files("stranger")));
  EXPECT_EQ(unknown.open(server.port()), agent::AgentError::kAuthenticationNeeded);
}

TEST_F(Tls, PlainAgentsAreServedAtTheSamePort) {
  auto open = options(Require::kNone);
  open.directory = policy::AgentDirectory::open_to_all();
  ServerThread server(open);
  Caller plain({});
  EXPECT_EQ(plain.open(server.port()), error_code());
  EXPECT_EQ(plain.owner(), "anonymous@127.0.0.1");
  Caller certified(with(authority.issue("stranger")));
  EXPECT_EQ(certified.open(server.port()), error_code());
}

TEST_F(Tls, ACertificateThatIsNotGoodIsRefused) {
  ServerThread server(options(Require::kTls));
  const auto why = [&](const agent::Agent::Options& way) {
    Caller caller(way);
    return caller.open(server.port()).message();
  };
  const Authority other("other");
  auto foreign = other.issue("proxy1");
  // The agent does not know the middlebox's authority; then the other way round.
  EXPECT_EQ(why(with(foreign)),
            "TLS: the peer's certificate was rejected: unable to get local issuer certificate");
  foreign.authority = authority.certificate();
  EXPECT_EQ(why(with(foreign)), "TLS: tlsv1 alert unknown ca");
  EXPECT_TRUE(why(with({{}, {}, authority.certificate()})).contains("certificate required"));
  EXPECT_TRUE(why(with(authority.issue("proxy1", {}, true))).contains("expired"));
  EXPECT_EQ(why(with(authority.issue("proxy1"))), error_code().message());
}

TEST_F(Tls, TheMiddleboxHasToBeTheOneThatWasMeant) {
  ServerThread server(options(Require::kTls));
  const auto files = authority.issue("proxy1");
  Caller right(with(files, "box.example"));
  EXPECT_EQ(right.open(server.port()), error_code());
  Caller wrong(with(files, "other.example"));
  EXPECT_TRUE(wrong.open(server.port()).message().contains("hostname mismatch"));
  Caller address(with(files, "127.0.0.2"));
  EXPECT_TRUE(address.open(server.port()).message().contains("IP address mismatch"));
}

TEST_F(Tls, OldVersionsAreRefused) {
  ServerThread server(options(Require::kTls));
  const auto files = authority.issue("proxy1");
  const auto connects = [&](const std::string& version) {
    // Security level 0, so that it is not this end that refuses.
    const auto command = "openssl s_client -connect 127.0.0.1:" + std::to_string(server.port()) +
                         " -CAfile " + files.authority + " -cert " + files.certificate + " -key " +
                         files.key + " -verify_return_error -cipher 'ALL:@SECLEVEL=0' " + version +
                         " </dev/null >/dev/null 2>&1";
    return std::system(command.c_str()) == 0;
  };
  EXPECT_TRUE(connects("-tls1_3"));
  EXPECT_TRUE(connects("-tls1_2"));
  EXPECT_FALSE(connects("-tls1_1"));
  EXPECT_FALSE(connects("-tls1"));
}

/// An agent with a certificate that says what it is told to.
class RawTlsAgent {
 public:
  RawTlsAgent(std::uint16_t port, const net::TlsFiles& files) {
    context_.use_certificate_chain_file(files.certificate);
    context_.use_private_key_file(files.key, asio::ssl::context::pem);
    stream_.emplace(io_, context_);
    stream_->next_layer().connect({asio::ip::address_v4::loopback(), port});
    stream_->handshake(asio::ssl::stream_base::client);
  }
  Body ask(const Body& body) {
    asio::write(*stream_, asio::buffer(encoded(Message{{++tid_}, body})));
    octets_.resize(kHeaderSize);
    asio::read(*stream_, asio::buffer(octets_));
    const auto header = read_header(std::span<const std::byte>(octets_).first<kHeaderSize>());
    octets_.resize(kHeaderSize + header.length);
    asio::read(*stream_, asio::buffer(octets_) + kHeaderSize);
    return decode(octets_).value().body;
  }

 private:
  asio::io_context io_;
  asio::ssl::context context_{asio::ssl::context::tls_client};
  std::optional<asio::ssl::stream<asio::ip::tcp::socket>> stream_;
  Octets octets_;
  std::uint32_t tid_ = 0;
};

// An agent that its certificate names asks the middlebox for proof, and takes its time with SA.
TEST_F(Tls, WhatHasChangedBetweenSeAndSaCounts) {
  auto limited = options(Require::kTls, {});
  policy::AgentPolicy policy;
  policy.name = "proxy1";
  policy.has_certificate = true;
  policy.sessions_max = 1;
  limited.directory.add(policy);
  limited.secret = "box";
  ServerThread server(limited);
  const auto files = authority.issue("proxy1");
  const Octets challenge(16);
  SeRequest greeting;
  greeting.challenge = Challenge{challenge};
  const auto code_of = [](const Body& reply) {
    const auto* refused = std::get_if<NegativeReply>(&reply);
    return refused != nullptr ? std::optional(refused->code) : std::nullopt;
  };
  RawTlsAgent first(server.port(), files);
  RawTlsAgent second(server.port(), files);
  ASSERT_EQ(code_of(first.ask(greeting)), std::nullopt);
  ASSERT_EQ(code_of(second.ask(greeting)), std::nullopt);
  EXPECT_EQ(code_of(first.ask(SaRequest{})), std::nullopt);
  EXPECT_EQ(code_of(second.ask(SaRequest{})), NegativeReplyCode::kLackOfResources);
  RawTlsAgent third(server.port(), files);
  EXPECT_EQ(code_of(third.ask(greeting)), NegativeReplyCode::kLackOfResources);
  first.ask(StRequest{});
  std::optional<RawTlsAgent> fourth;
  ASSERT_TRUE(eventually([&] {  // its session ends with its connection
    fourth.emplace(server.port(), files);
    return !code_of(fourth->ask(greeting));
  }));
  server.ask([](middlebox::Server& box) {
    box.apply({}, "box");
    return true;
  });
  EXPECT_EQ(code_of(fourth->ask(SaRequest{})), NegativeReplyCode::kNoAuthorization);
}

/// Passes octets on between an agent and a middlebox, and can hold back all but the first of those
/// to the middlebox.
class Relay {
 public:
  explicit Relay(std::uint16_t port)
      : acceptor_(io_, {asio::ip::address_v4::loopback(), 0}), thread_([this, port] {
          acceptor_.accept(agent_);
          box_.connect({asio::ip::address_v4::loopback(), port});
          std::thread back([this] { copy(box_, agent_, false); });
          copy(agent_, box_, true);
          back.join();
        }) {}
  ~Relay() {
    hold = false;
    thread_.join();
  }
  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  std::atomic<bool> hold = false;
  std::atomic<bool> held = false;

 private:
  using Tcp = asio::ip::tcp::socket;
  void copy(Tcp& from, Tcp& to, bool may_hold) {
    std::array<char, 65536> octets;
    for (;;) {
      error_code error;
      const auto count = from.read_some(asio::buffer(octets), error);
      if (error) break;
      const bool holds = may_hold && hold;  // the other direction has nothing to say about it
      const auto first = holds ? std::min<std::size_t>(count, 10) : count;
      asio::write(to, asio::buffer(octets, first), error);
      if (holds) held = true;
      while (holds && hold) std::this_thread::sleep_for(kLook);
      asio::write(to, asio::buffer(octets.data() + first, count - first), error);
    }
    error_code ignored;
    to.shutdown(Tcp::shutdown_both, ignored);
  }
  asio::io_context io_;
  asio::ip::tcp::acceptor acceptor_;
  Tcp agent_{io_};
  Tcp box_{io_};
  std::thread thread_;
};

/// Of its timers, while we watch; one without pause makes thousands.
constexpr std::uint64_t kHandlersOfAnIdleServer = 100;

TEST_F(Tls, HalfARecordCostsNothing) {
  ServerThread server(options(Require::kTls));
  Relay relay(server.port());
  Caller caller(with(authority.issue("proxy1")));
  ASSERT_EQ(caller.open(relay.port()), error_code());
  relay.hold = true;
  auto rule = caller->enable(pinhole(5004, kLongLifetimeS), use_future);
  ASSERT_TRUE(eventually([&] { return relay.held.load(); }));
  // A loop that is told again and again that there is input calls handlers for as long as we watch.
  const auto before = server.handlers_called();
  std::this_thread::sleep_for(kWatch);
  EXPECT_LT(server.handlers_called() - before, kHandlersOfAnIdleServer);
  relay.hold = false;
  EXPECT_NE(rule.get().pid, PolicyRuleId{});
}

}  // namespace
}  // namespace simco::test
