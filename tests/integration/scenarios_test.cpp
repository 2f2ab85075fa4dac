// The usage examples of RFC 5189 section 4, played with the agent library over TCP.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <thread>

#include "agent/agent.hpp"
#include "simco/wire/tuple_text.hpp"
#include "tests/support/figures.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/server_thread.hpp"

namespace simco::agent {
namespace {

using namespace std::chrono_literals;
using boost::asio::use_future;
using test::ServerThread;

/// The code of the refusal that `call` runs into, or nothing.
template <class Call>
std::optional<NegativeReplyCode> refusal(Call call) {
  try {
    call();
  } catch (const boost::system::system_error& error) {
    return negative_reply(error.code());
  }
  return std::nullopt;
}

/// Two loops: one for agents, one for the middlebox.
class Scenario {
 public:
  explicit Scenario(const middlebox::ServerOptions& options) : server_(options) {
    thread_ = std::thread([this] { io_.run(); });
  }
  ~Scenario() {
    agents_.clear();
    work_.reset();
    thread_.join();
  }
  /// A session of the agent called `name`, whose secret is its name.
  Agent& open(const std::string& name) {
    Agent::Options options;
    options.credentials = Credentials{name, name};
    agents_.push_back(std::make_unique<Agent>(io_.get_executor(), options));
    agents_.back()->open({"127.0.0.1", server_.port()}, use_future).get();
    return *agents_.back();
  }

 private:
  ServerThread server_;
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      io_.get_executor()};
  std::vector<std::unique_ptr<Agent>> agents_;
  std::thread thread_;
};

policy::AgentPolicy named(const char* name) {
  policy::AgentPolicy policy;
  policy.name = policy.secret = name;
  return policy;
}

middlebox::ServerOptions box(policy::Mode mode) {
  middlebox::ServerOptions options;
  options.nat.mode = mode;
  if (mode != policy::Mode::kFirewall) {
    options.nat.outside = {{*parse_address("198.51.100.1"), 2}};
  }
  if (mode == policy::Mode::kTwiceNat) options.nat.inside = {{*parse_address("10.1.0.1"), 2}};
  options.directory = {};
  auto proxy = named("b2bua");
  proxy.external_wildcards = false;  // section 4.2: "not permitted for security reasons"
  auto admin = named("administrator");
  admin.may_change = {"*"};
  for (const auto& policy : {proxy, named("agent1"), admin}) options.directory.add(policy);
  return options;
}

AddressTuple tuple(const char* text, Location location, std::uint8_t protocol = kProtocolUdp) {
  return parse_endpoint(text)->tuple(IpVersion::kIpv4, protocol, location);
}

PerRequest per(const char* internal, const char* external, Direction direction,
               std::uint8_t protocol = kProtocolUdp) {
  return {{PortParity::kSame, direction},
          tuple(internal, Location::kInternal, protocol),
          tuple(external, Location::kExternal, protocol),
          {300},
          {}};
}

// Section 4.1: an agent that lost its session, and an administrator, find out what there is.
TEST(Rfc5189, ExploringPolicyRules) {
  Scenario scenario(box(policy::Mode::kTraditionalNat));
  std::vector<PolicyRuleId> made;
  GroupId group;
  {
    auto& agent = scenario.open("agent1");
    PrrRequest reserve;
    reserve.parameters.protocol = kProtocolUdp;
    reserve.lifetime = {300};
    const auto first = agent.reserve(reserve, use_future).get();
    made.push_back(first.pid);
    group = first.group;
    for (auto request : {per("10.0.0.5:5004", "192.0.2.7", Direction::kInbound),
                         per("10.0.0.5:5006", "192.0.2.7:6000", Direction::kOutbound),
                         per("10.0.0.5:5008", "192.0.2.7:6002", Direction::kBidirectional, 6)}) {
      request.group = group;
      made.push_back(agent.enable(request, use_future).get().pid);
    }
    agent.close(use_future).get();
  }
  for (const char* name : {"agent1", "administrator"}) {
    auto& agent = scenario.open(name);
    EXPECT_EQ(agent.list(use_future).get(), made) << name;
    std::vector<std::string> seen;
    for (const auto pid : made) {
      const auto rule = agent.status(pid, use_future).get();
      EXPECT_EQ(rule.owner, "agent1");
      EXPECT_EQ(rule.group, group);
      if (rule.kind == RuleStatus::Kind::kReserved) {
        // Figure 6: nothing is known but where it is reserved.
        EXPECT_FALSE(rule.internal || rule.external || rule.inside || rule.parameters);
        EXPECT_EQ(to_text(*rule.outside).substr(0, 11), "198.51.100.");
        seen.push_back("reserved");
        continue;
      }
      // Figures 7 to 9: inside is what external is, outside is the middlebox's.
      EXPECT_EQ(to_text(*rule.inside), to_text(*rule.external));
      EXPECT_EQ(to_text(*rule.outside).substr(0, 11), "198.51.100.");
      EXPECT_EQ(rule.outside->port % 2, rule.internal->port % 2);
      seen.push_back(to_text(*rule.internal) + " " + to_text(*rule.external));
    }
    EXPECT_EQ(seen, (std::vector<std::string>{"reserved", "10.0.0.5:5004 192.0.2.7",
                                              "10.0.0.5:5006 192.0.2.7:6000",
                                              "10.0.0.5:5008 192.0.2.7:6002"}));
  }
}

class Call : public testing::TestWithParam<policy::Mode> {};

// Section 4.2: a back-to-back user agent opens the way for a call and closes it again.
TEST_P(Call, EnablingASipSignaledCall) {
  const auto mode = GetParam();
  Scenario scenario(box(mode));
  auto& agent = scenario.open("b2bua");
  auto& admin = scenario.open("administrator");

  // Figure 11: user agent B is not known yet, and any address is not permitted.
  const auto early = per("10.0.0.5:5004", "any", Direction::kInbound);
  EXPECT_EQ(refusal([&] { agent.enable(early, use_future).get(); }),
            NegativeReplyCode::kWildcardingNotSupported);

  // Figure 12: so an even port is reserved.
  PrrRequest reserve;
  const bool twice = mode == policy::Mode::kTwiceNat;
  reserve.parameters = {twice ? NatMode::kTwice : NatMode::kTraditional,
                        ReservedParity::kEven,
                        RequestedIpVersion::kIpv4,
                        RequestedIpVersion::kIpv4,
                        kProtocolUdp,
                        1};
  reserve.lifetime = {300};
  const auto reserved = agent.reserve(reserve, use_future).get();
  EXPECT_EQ(reserved.lifetime, Lifetime{300});
  EXPECT_EQ(reserved.inside.has_value(), twice);

  // Figure 13: B has answered. From B to A, then from A to B in the same group.
  const auto inbound = per("10.0.0.5:5004", "192.0.2.7:6000", Direction::kInbound);
  const auto to_a =
      agent
          .enable_reserved(
              {inbound.parameters, inbound.internal, inbound.external, {300}, reserved.pid},
              use_future)
          .get();
  EXPECT_EQ(to_a.pid, reserved.pid);
  EXPECT_EQ(to_a.group, reserved.group);
  if (mode == policy::Mode::kFirewall) {
    EXPECT_EQ(to_text(to_a.outside), "10.0.0.5:5004");
    EXPECT_EQ(to_text(*to_a.inside), "192.0.2.7:6000");
  } else {
    EXPECT_EQ(to_a.outside, reserved.outside);
    EXPECT_EQ(to_a.inside, reserved.inside);
    EXPECT_EQ(to_a.outside.port % 2, 0);
  }
  auto outbound = per("10.0.0.5", "192.0.2.7:6000", Direction::kOutbound);
  if (twice) outbound.internal.port = 5004;  // the inside port must stand for one outside
  outbound.group = to_a.group;
  const auto to_b = agent.enable(outbound, use_future).get();
  EXPECT_EQ(to_b.group, to_a.group);
  EXPECT_NE(to_b.pid, to_a.pid);

  // The administrator has heard of each step.
  for (const auto pid : {reserved.pid, to_a.pid, to_b.pid}) {
    const auto heard = admin.next_event(use_future).get();
    EXPECT_EQ(heard.pid, pid);
    EXPECT_EQ(heard.lifetime, Lifetime{300});
  }

  // Figure 14: the call is over.
  for (const auto pid : {to_a.pid, to_b.pid}) {
    agent.remove(pid, use_future).get();
    EXPECT_EQ(admin.next_event(use_future).get().lifetime, Lifetime{0});
  }
  EXPECT_TRUE(admin.list(use_future).get().empty());
}

// Not of RFC 5189, which has no PDR: an attacker is shut out in the middle of a call.
TEST_P(Call, AnAttackerIsShutOut) {
  Scenario scenario(box(GetParam()));
  auto& agent = scenario.open("b2bua");
  auto& admin = scenario.open("administrator");
  const auto request = per("10.0.0.5:5004", "192.0.2.7:6000", Direction::kBidirectional);
  const auto call = agent.enable(request, use_future).get();
  const auto block = admin
                         .disable({tuple("any", Location::kInternal, 0),
                                   tuple("192.0.2.0/24", Location::kExternal, 0),
                                   {60}},
                                  use_future)
                         .get();
  const auto heard = agent.next_event(use_future).get();
  EXPECT_EQ(heard.pid, call.pid);
  EXPECT_EQ(heard.lifetime, Lifetime{0});
  EXPECT_EQ(refusal([&] { agent.enable(request, use_future).get(); }),
            NegativeReplyCode::kConflict);
  const auto status = admin.status(block.pid, use_future).get();
  EXPECT_EQ(status.kind, RuleStatus::Kind::kDisabled);
  EXPECT_EQ(to_text(*status.external), "192.0.2.0/24");
  admin.remove(block.pid, use_future).get();
  EXPECT_EQ(agent.enable(request, use_future).get().lifetime, Lifetime{300});
}

INSTANTIATE_TEST_SUITE_P(, Call,
                         testing::Values(policy::Mode::kFirewall, policy::Mode::kTraditionalNat,
                                         policy::Mode::kTwiceNat));

TEST(AgentAuthentication, Fails) {
  auto options = box(policy::Mode::kFirewall);
  options.secret = "box";
  ServerThread server(options);
  const auto open = [&](const Agent::Options& with) {
    boost::asio::io_context io;
    Agent agent(io.get_executor(), with);
    auto opened = agent.open({"127.0.0.1", server.port()}, use_future);
    EXPECT_TRUE(test::eventually([&] {
      io.run_one_for(test::kLook);
      return opened.wait_for(0s) == std::future_status::ready;
    }));
    try {
      opened.get();
    } catch (const boost::system::system_error& error) {
      return error.code();
    }
    return boost::system::error_code{};
  };
  Agent::Options with;
  EXPECT_EQ(open(with), AgentError::kAuthenticationNeeded);
  with.credentials = Credentials{"agent1", "wrong"};
  EXPECT_EQ(open(with), make_reply_error(NegativeReplyCode::kAuthenticationFailed));
  with.credentials = Credentials{"agent1", "agent1"};
  with.middlebox_secret = "another box";
  EXPECT_EQ(open(with), AgentError::kMiddleboxNotAuthentic);
  with.middlebox_secret = "box";
  EXPECT_EQ(open(with), boost::system::error_code{});
}

}  // namespace
}  // namespace simco::agent
