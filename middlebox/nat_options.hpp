// NAT pools as the command line has them.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "middlebox/policy/nat.hpp"

namespace simco::middlebox {

/// Reads `ADDRESS`, `ADDRESS-ADDRESS` and `PREFIX/LENGTH`. The error says what is wrong.
std::expected<std::vector<policy::AddressRange>, std::string> parse_pool(
    const std::vector<std::string>& words);

/// Reads `LOW-HIGH` into the ports of `nat`; false where `text` is nothing such, or has port 0.
bool parse_port_pool(std::string_view text, policy::NatTable::Options& nat);

}  // namespace simco::middlebox
