// The values of simco-middlebox's options as they are typed or written in the file.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "middlebox/config/backend_type.hpp"
#include "middlebox/config/options.hpp"
#include "middlebox/policy/nat.hpp"
#include "simco/cli/transport_arguments.hpp"

namespace simco::middlebox {

/// Parses `ADDRESS`, `ADDRESS-ADDRESS` and `PREFIX/LENGTH`. Returns an error message if a word is
/// invalid.
std::expected<std::vector<policy::AddressRange>, std::string> parse_pool(
    const std::vector<std::string>& words);

/// Parses `LOW-HIGH` into the ports of `nat`. Returns false if `text` is invalid or includes port
/// 0.
bool parse_port_pool(std::string_view text, policy::NatTable::Options& nat);

/// The values, with their defaults. Options whose value needs no further reading are in `settings`.
struct Arguments {
  explicit Arguments(BackendTable table) : backends(table), backend(table.front().name) {
    for (const auto& row : table) types.push_back(row.make());
  }

  Settings settings;
  BackendTable backends;
  std::vector<std::unique_ptr<BackendType>> types;  ///< for each row
  std::string backend;
  cli::TransportArguments transport;
  std::string config;
  bool allow_anonymous = false;
  std::string check_user;  ///< of main()
};

/// Declares all options. `arguments` must outlive `options`.
void declare(cli::Options& options, Arguments& arguments);

}  // namespace simco::middlebox
