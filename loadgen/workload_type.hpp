// The table of workloads: name, abilities, and the function that makes it. Only the folder of a
// workload and this table name it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loadgen/workload.hpp"

namespace simco::loadgen {

/// A row of the table.
struct WorkloadType {
  const char* name;     ///< of `--workload`, in the table and the JSON document
  const char* summary;  ///< its transactions, for `--help`
  std::uint16_t port;   ///< to connect to if the user names none
  /// Why it cannot go over a transport that loses messages; null if it can.
  const char* no_loss;
  /// Why its messages cannot overtake each other; null if they can.
  const char* no_unordered;
  /// Member of the JSON document that counts Housekeeping::done; null if its clients do none.
  const char* housekeeping;
  std::unique_ptr<Workload> (*make)();
};

/// All workloads; the first is the default.
std::span<const WorkloadType> workload_types();
/// Returns the position of the workload that is called `name`, or nothing.
std::optional<std::size_t> find_workload(std::string_view name);
/// Returns all names, in the table's order.
std::vector<std::string> workload_names();
/// Returns the names of those whose `obstacle` is null, joined by " or ".
std::string workloads_without(const char* WorkloadType::* obstacle);
/// Returns a line for `--help`: every name with its summary.
std::string workload_summaries();

}  // namespace simco::loadgen
