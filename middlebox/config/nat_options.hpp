// Parses NAT pools of the command line and the configuration file.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "middlebox/policy/nat.hpp"

namespace simco::middlebox {

/// Parses `ADDRESS`, `ADDRESS-ADDRESS` and `PREFIX/LENGTH`. Returns an error message if a word is
/// invalid.
std::expected<std::vector<policy::AddressRange>, std::string> parse_pool(
    const std::vector<std::string>& words);

/// Parses `LOW-HIGH` into the ports of `nat`. Returns false if `text` is invalid or includes port
/// 0.
bool parse_port_pool(std::string_view text, policy::NatTable::Options& nat);

}  // namespace simco::middlebox
