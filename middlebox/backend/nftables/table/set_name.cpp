#include "middlebox/backend/nftables/table/set_name.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>

namespace simco::backend::nftables {

std::string set_name(const Mask& mask) {
  static constexpr std::array<const char*, 6> purposes = {
      "disable", "enable", "dnat-outside", "dnat-inside", "snat-outside", "snat-inside"};
  static constexpr std::array<const char*, 5> directions = {"", "-in", "-out", "-in-conn",
                                                            "-out-conn"};
  const auto version = mask.version == IpVersion::kIpv4 ? '4' : '6';
  auto name = fmt::format("{}{}{}", purposes[static_cast<std::size_t>(mask.purpose)], version,
                          directions[static_cast<std::size_t>(mask.direction)]);
  if (mask.intervals) return name + "-intervals";
  name += fmt::format("_{}.{}_{}.{}", mask.internal_bits, mask.internal_port_bits,
                      mask.external_bits, mask.external_port_bits);
  if (mask.protocol) name += "_proto";
  if (mask.target_port) name += "_port";
  if (mask.last_port != 0) name += fmt::format("_{}-{}", mask.first_port, mask.last_port);
  return name;
}

}  // namespace simco::backend::nftables
