#include "loadgen/echo/echo_script.hpp"

#include <stdexcept>

#include "loadgen/echo/echo_message.hpp"
#include "simco/net/transport_type.hpp"

namespace simco::loadgen {

EchoScript::EchoScript(const Settings& settings) : connections_(settings.connections) {
  if (!net::type_of(settings.transport.transport).reliable) {
    throw std::runtime_error("a replay of echo needs a reliable transport");
  }
}

replay::Exchange EchoScript::exchange(std::uint64_t index, const replay::Place&) const {
  replay::Exchange result{
      static_cast<std::uint32_t>(index / connections_), std::vector<std::byte>(kEchoSize), {}, {}};
  write_echo(result.number, result.request);
  result.response = result.request;
  return result;
}

void EchoScript::complete(replay_plan& plan, const replay::Exchange&) const {
  plan.binary_keys = 1;
  plan.request_key = plan.response_key = kEchoNumberAt;
  plan.timer_b_ns = plan.timeout_ns;
}

}  // namespace simco::loadgen
