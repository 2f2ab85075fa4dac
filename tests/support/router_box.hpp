// A middlebox that enforces its rules on the router of a test network, and an agent of it.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "agent/agent.hpp"
#include "simco/wire/tuple_text.hpp"
#include "tests/support/network.hpp"
#include "tests/support/program.hpp"

namespace simco::test {

/// An agent on a thread of its own; every call waits for its reply.
class BoxAgent {
 public:
  BoxAgent(const NetworkNamespace& host, std::uint16_t port) {
    thread_ = std::thread([this, &host] { host.run([this] { io_.run(); }); });
    agent_ = std::make_unique<agent::Agent>(io_.get_executor());
    agent_->open(net::HostPort{"127.0.0.1", port}, boost::asio::use_future).get();
  }
  ~BoxAgent() {
    io_.stop();
    thread_.join();
    agent_.reset();
  }
  agent::Agent* operator->() { return agent_.get(); }

  /// A PER between two endpoints as parse_endpoint() reads them.
  static PerRequest request(const std::string& internal, const std::string& external,
                            std::uint8_t protocol, Direction direction,
                            std::uint32_t lifetime_s = 60) {
    PerRequest request;
    const auto [one, other] = tuples(internal, external, protocol);
    request.internal = one;
    request.external = other;
    request.parameters.direction = direction;
    request.lifetime = {lifetime_s};
    return request;
  }
  agent::EnabledRule enable(const PerRequest& request) {
    return agent_->enable(request, boost::asio::use_future).get();
  }
  agent::EnabledRule enable(const std::string& internal, const std::string& external,
                            std::uint8_t protocol = kProtocolUdp,
                            Direction direction = Direction::kBidirectional,
                            std::uint32_t lifetime_s = 60) {
    return enable(request(internal, external, protocol, direction, lifetime_s));
  }
  agent::DisableRule disable(const std::string& internal, const std::string& external,
                             std::uint8_t protocol = kProtocolUdp) {
    PdrRequest request;
    const auto [one, other] = tuples(internal, external, protocol);
    request.internal = one;
    request.external = other;
    request.lifetime = {60};
    return agent_->disable(request, boost::asio::use_future).get();
  }
  void remove(PolicyRuleId pid) { agent_->remove(pid, boost::asio::use_future).get(); }
  void renew(PolicyRuleId pid, std::uint32_t lifetime_s) {
    agent_->change_lifetime(pid, {lifetime_s}, boost::asio::use_future).get();
  }
  /// Low octet of the reply code of a PER that is refused, or 0.
  int refusal(const PerRequest& request) {
    try {
      enable(request);
      return 0;
    } catch (const boost::system::system_error& error) {
      return error.code().value();
    }
  }

 private:
  static std::pair<AddressTuple, AddressTuple> tuples(const std::string& internal,
                                                      const std::string& external,
                                                      std::uint8_t protocol) {
    const auto one = parse_endpoint(internal);
    const auto other = parse_endpoint(external);
    if (!one || !other) throw std::runtime_error("no endpoint: " + internal + " " + external);
    auto version = IpVersion::kIpv4;
    if (one->prefix) version = one->prefix->address.version;
    if (other->prefix) version = other->prefix->address.version;
    return {one->tuple(version, protocol, Location::kInternal),
            other->tuple(version, protocol, Location::kExternal)};
  }

  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      io_.get_executor()};
  std::unique_ptr<agent::Agent> agent_;
  std::thread thread_;
};

/// Where a tuple of a reply says that packets are to be sent.
inline Endpoint endpoint_of(const AddressTuple& tuple, std::uint16_t offset = 0) {
  return {to_string(IpAddress{tuple.ip_version, tuple.address}),
          static_cast<std::uint16_t>(tuple.port + offset)};
}

class RouterBox {
 public:
  explicit RouterBox(const NetworkNamespace& router, std::vector<std::string> options = {})
      : router_(router) {
    std::vector<std::string> words = {
        "simco-middlebox", "--backend", "nftables",      "--port", "0",
        "--internal-if",   "int0",      "--external-if", "ext0"};
    words.insert(words.end(), options.begin(), options.end());
    program_ = router.run([&] { return std::make_unique<Program>(words); });
    port_ = program_->listening_port();
  }
  Program& program() { return *program_; }
  BoxAgent& agent() {
    if (!agent_) agent_ = std::make_unique<BoxAgent>(router_, port_);
    return *agent_;
  }
  std::unique_ptr<BoxAgent> another_agent() { return std::make_unique<BoxAgent>(router_, port_); }
  void kill() {
    agent_.reset();
    program_->signal(SIGKILL);
    program_->wait();
  }
  void stop() {
    agent_.reset();
    program_->signal(SIGTERM);
    EXPECT_EQ(program_->wait(), 0) << program_->err();
  }
  /// Waits for a line of the log.
  bool says(const std::string& text) const {
    for (int i = 0; i < 1000; ++i) {
      if (program_->err().find(text) != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

 private:
  const NetworkNamespace& router_;
  std::unique_ptr<Program> program_;
  std::uint16_t port_ = 0;
  std::unique_ptr<BoxAgent> agent_;
};

}  // namespace simco::test
