#include "tests/support/router_box.hpp"

#include <gtest/gtest.h>

#include <boost/asio/use_future.hpp>
#include <stdexcept>

#include "simco/wire/tuple_text.hpp"

namespace simco::test {
namespace {

using boost::asio::use_future;

std::pair<AddressTuple, AddressTuple> tuples(const std::string& internal,
                                             const std::string& external, std::uint8_t protocol) {
  const auto one = parse_endpoint(internal);
  const auto other = parse_endpoint(external);
  if (!one || !other) throw std::runtime_error("no endpoint: " + internal + " " + external);
  auto version = IpVersion::kIpv4;
  if (one->prefix) version = one->prefix->address.version;
  if (other->prefix) version = other->prefix->address.version;
  return {one->tuple(version, protocol, Location::kInternal),
          other->tuple(version, protocol, Location::kExternal)};
}

const Words kNftables{"--backend", "nftables"};

}  // namespace

BoxAgent::BoxAgent(const NetworkNamespace& host, std::uint16_t port) {
  thread_ = std::thread([this, &host] { host.run([this] { io_.run(); }); });
  agent_ = std::make_unique<agent::Agent>(io_.get_executor());
  agent_->open(net::HostPort{"127.0.0.1", port}, use_future).get();
}

BoxAgent::~BoxAgent() {
  io_.stop();
  thread_.join();
  agent_.reset();
}

PerRequest BoxAgent::request(const std::string& internal, const std::string& external,
                             std::uint8_t protocol, Direction direction, std::uint32_t lifetime_s) {
  PerRequest request;
  const auto [one, other] = tuples(internal, external, protocol);
  request.internal = one;
  request.external = other;
  request.parameters.direction = direction;
  request.lifetime = {lifetime_s};
  return request;
}

agent::EnabledRule BoxAgent::enable(const PerRequest& request) {
  return agent_->enable(request, use_future).get();
}

agent::DisableRule BoxAgent::disable(const std::string& internal, const std::string& external,
                                     std::uint8_t protocol) {
  PdrRequest request;
  const auto [one, other] = tuples(internal, external, protocol);
  request.internal = one;
  request.external = other;
  request.lifetime = {kLongLifetimeS};
  return agent_->disable(request, use_future).get();
}

void BoxAgent::remove(PolicyRuleId pid) { agent_->remove(pid, use_future).get(); }

void BoxAgent::renew(PolicyRuleId pid, std::uint32_t lifetime_s) {
  agent_->change_lifetime(pid, {lifetime_s}, use_future).get();
}

agent::ReservedRule BoxAgent::reserve(const PrrRequest& request) {
  return agent_->reserve(request, use_future).get();
}

agent::EnabledRule BoxAgent::enable_reserved(PolicyRuleId pid, const PerRequest& request) {
  const PeaRequest pea{request.parameters, request.internal, request.external, request.lifetime,
                       pid};
  return agent_->enable_reserved(pea, use_future).get();
}

agent::RuleStatus BoxAgent::status(PolicyRuleId pid) {
  return agent_->status(pid, use_future).get();
}

std::vector<PolicyRuleId> BoxAgent::rules() { return agent_->list(use_future).get(); }

int BoxAgent::refusal(const PerRequest& request) {
  try {
    enable(request);
    return 0;
  } catch (const boost::system::system_error& error) {
    return error.code().value();
  }
}

Endpoint endpoint_of(const AddressTuple& tuple, std::uint16_t offset) {
  return {to_string(IpAddress{tuple.ip_version, tuple.address}),
          static_cast<std::uint16_t>(tuple.port + offset)};
}

std::unique_ptr<Program> start(const NetworkNamespace& host, const Words& words) {
  return host.run([&] { return std::make_unique<Program>(words); });
}

std::unique_ptr<Program> start_with(const NetworkNamespace& router, const std::string& caps,
                                    const Words& options) {
  const auto sets = "-all" + caps;
  return start(router, Words{"/usr/bin/setpriv", "--bounding-set", sets, "--inh-caps", sets,
                             SIMCO_BIN_DIR "/simco-middlebox"} +
                           kNftables + RouterBox::kInterfaces + Words{"--port", "0"} + options);
}

const Words RouterBox::kInterfaces{"--internal-if", "int0", "--external-if", "ext0"};

RouterBox::RouterBox(const NetworkNamespace& router, const Words& options, std::uint16_t port,
                     const Words& interfaces)
    : router_(router),
      program_(start(router, Words{"simco-middlebox"} + kNftables + interfaces +
                                 Words{"--port", std::to_string(port)} + options + further_)),
      port_(program_->listening_port()) {}

BoxAgent& RouterBox::agent() {
  if (!agent_) agent_ = std::make_unique<BoxAgent>(router_, port_);
  return *agent_;
}

void RouterBox::kill() {
  agent_.reset();
  program_->signal(SIGKILL);
  program_->wait();
}

void RouterBox::stop() {
  agent_.reset();
  program_->signal(SIGTERM);
  EXPECT_EQ(program_->wait(), 0) << program_->err();
}

}  // namespace simco::test
