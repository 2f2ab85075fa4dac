#include "middlebox/backend/match/mask.hpp"

namespace simco::backend::match {

unsigned Mask::specificity() const {
  return unsigned{internal_bits} + external_bits + internal_port_bits + external_port_bits +
         (protocol ? 8U : 0U);
}

bool is_common(const Mask& mask) {
  const auto all = address_bits(mask.version);
  const bool internal = mask.internal_bits == all && mask.internal_port_bits >= 15;
  const bool external = mask.external_bits == all && mask.external_port_bits >= 15;
  const bool any_external = mask.external_bits == 0 && mask.external_port_bits == 0;
  return !mask.intervals && mask.last_port == 0 && mask.protocol && internal &&
         (external || any_external);
}

}  // namespace simco::backend::match
