// Command line of simco-loadgen.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "loadgen/generator.hpp"
#include "loadgen/workload_type.hpp"
#include "simco/cli/command_line.hpp"
#include "simco/net/endpoint.hpp"
#include "simco/net/transport.hpp"

namespace simco::loadgen {

/// The parsed command line of simco-loadgen.
struct Settings {
  net::HostPort target;
  net::TransportOptions transport;
  bool unordered = false;
  bool hold = false;
  std::uint32_t connections = 1;
  std::vector<std::unique_ptr<Workload>> workloads;  ///< of all types, in their order
  std::size_t chosen = 0;                            ///< of them
  GeneratorOptions generator;
  std::string arrivals = "poisson";
  std::string arrivals_file;  ///< file or empty
  std::string json;           ///< file, "-" or empty
  std::string samples;        ///< file or empty

  const WorkloadType& type() const { return workload_types()[chosen]; }
  const Workload& workload() const { return *workloads[chosen]; }
};

/// The name of the program.
inline constexpr const char* kProgram = "simco-loadgen";

/// Parses the command line of simco-loadgen.
std::expected<Settings, cli::UsageExit> parse_settings(int argc, const char* const* argv);

}  // namespace simco::loadgen
