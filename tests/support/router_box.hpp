// A middlebox that enforces its rules on the router of a test network, and an agent of it.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "agent/agent.hpp"
#include "tests/support/network.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/program.hpp"

namespace simco::test {

/// An agent on a thread of its own; every call waits for its reply.
class BoxAgent {
 public:
  BoxAgent(const NetworkNamespace& host, std::uint16_t port);
  ~BoxAgent();
  agent::Agent* operator->() { return agent_.get(); }

  /// A PER between two endpoints as parse_endpoint() reads them.
  static PerRequest request(const std::string& internal, const std::string& external,
                            std::uint8_t protocol, Direction direction,
                            std::uint32_t lifetime_s = kLongLifetimeS);
  agent::EnabledRule enable(const PerRequest& request);
  agent::EnabledRule enable(const std::string& internal, const std::string& external,
                            std::uint8_t protocol = kProtocolUdp,
                            Direction direction = Direction::kBidirectional,
                            std::uint32_t lifetime_s = kLongLifetimeS) {
    return enable(request(internal, external, protocol, direction, lifetime_s));
  }
  agent::DisableRule disable(const std::string& internal, const std::string& external,
                             std::uint8_t protocol = kProtocolUdp);
  void remove(PolicyRuleId pid);
  void renew(PolicyRuleId pid, std::uint32_t lifetime_s);
  agent::ReservedRule reserve(const PrrRequest& request);
  /// A PEA for a reservation of this agent, with the rest as in `request`.
  agent::EnabledRule enable_reserved(PolicyRuleId pid, const PerRequest& request);
  agent::RuleStatus status(PolicyRuleId pid);
  std::vector<PolicyRuleId> rules();
  /// Low octet of the reply code of a PER that is refused, or 0.
  int refusal(const PerRequest& request);

 private:
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      io_.get_executor()};
  std::unique_ptr<agent::Agent> agent_;
  std::thread thread_;
};

/// Starts a program on a host.
std::unique_ptr<Program> start(const NetworkNamespace& host, const Words& words);

/// Starts a middlebox on the router of a Network that has the capabilities `caps` alone, as setpriv
/// has them.
std::unique_ptr<Program> start_with(const NetworkNamespace& router, const std::string& caps,
                                    const Words& options = {});

/// Where a tuple of a reply says that packets are to be sent.
Endpoint endpoint_of(const AddressTuple& tuple, std::uint16_t offset = 0);

class RouterBox {
 public:
  /// Every middlebox that is started from now on has these options besides.
  static void add_to_all(Words options) { further_ = std::move(options); }
  /// As the router of a Network is wired.
  static const Words kInterfaces;
  /// `port`: 0 for any free one. `interfaces`: empty if it is not to forward.
  explicit RouterBox(const NetworkNamespace& router, const Words& options = {},
                     std::uint16_t port = 0, const Words& interfaces = kInterfaces);
  Program& program() { return *program_; }
  BoxAgent& agent();
  /// Where it takes sessions, in the router's namespace.
  std::uint16_t port() const { return port_; }
  void kill();
  void stop();
  /// Waits for a line of the log.
  bool says(const std::string& text) const { return program_->says(text); }

 private:
  static inline Words further_;
  const NetworkNamespace& router_;
  std::unique_ptr<Program> program_;
  std::uint16_t port_ = 0;
  std::unique_ptr<BoxAgent> agent_;
};

}  // namespace simco::test
