// The values of simco-middlebox's options as they are typed or written in the file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "middlebox/config/backend_type.hpp"
#include "middlebox/config/options.hpp"
#include "simco/cli/transport_arguments.hpp"

namespace CLI {
class App;
}

namespace simco::middlebox {

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
  double message_timeout_s = 60;
  std::string mode = "firewall";
  std::vector<std::string> outside;
  std::vector<std::string> inside;
  std::string ports = "1024-65535";
  std::string pooling = "paired";
  std::string state_sync = "disk";
  std::string config;
  bool allow_anonymous = false;
  std::string require = "none";
  std::string check_user;  ///< of main()
};

/// Declares all options. `arguments` must outlive `app`.
void declare(CLI::App& app, Arguments& arguments);

}  // namespace simco::middlebox
