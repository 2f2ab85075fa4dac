// Requests at random, such that they meet: few addresses, ports, rules and groups, and every kind
// of wildcard, range and mistake now and then.
#pragma once

#include <cstdint>
#include <optional>
#include <random>

#include "tests/simulator/model.hpp"

namespace simco::test {

class RequestGenerator {
 public:
  /// Requests about the rules that `model` has at the time. Both must outlive this.
  RequestGenerator(std::mt19937& random, const Model& model) : random_(random), model_(model) {}

  Body request();
  /// A PER that costs the backend as much as many others.
  Body large();
  /// A PDR that blocks the traffic of some of those.
  Body against_large();

 private:
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  AddressTuple tuple(Location location, std::uint8_t protocol);
  std::uint8_t protocol();
  PerParameterSet parameters();
  Lifetime lifetime();
  PolicyRuleId some_pid();
  std::optional<GroupId> some_group();
  Body per();
  Body prr();
  Body pea();
  Body pdr();
  Body plc();

  std::mt19937& random_;
  const Model& model_;
};

}  // namespace simco::test
