#include "loadgen/workload_type.hpp"

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "loadgen/echo/echo_workload.hpp"
#include "loadgen/per/per_workload.hpp"
#include "loadgen/sip/sip_workload.hpp"
#include "simco/wire/limits.hpp"
#include "simco/wire/table.hpp"

namespace simco::loadgen {
namespace {

template <class T>
std::unique_ptr<Workload> make() {
  return std::make_unique<T>();
}

constexpr WorkloadType kTypes[] = {
    {.name = "per",
     .summary = "PER transactions",
     .port = kSimcoPort,
     .no_loss = "SIMCO sends nothing again",
     .no_unordered = "SIMCO messages are always ordered",
     .housekeeping = "rules_deleted",
     .make = make<PerWorkload>},
    {.name = "echo",
     .summary = "messages to simco-echo",
     .port = kSimcoPort,
     .no_loss = "echo messages are not sent again",
     .no_unordered = nullptr,
     .housekeeping = nullptr,
     .make = make<EchoWorkload>},
    {.name = "sip",
     .summary = "INVITEs to simco-sip or any SIP server",
     .port = kSipPort,
     .no_loss = nullptr,
     .no_unordered = nullptr,
     .housekeeping = nullptr,
     .make = make<SipWorkload>},
};

}  // namespace

// A workload without options, refusals and housekeeping.
void Workload::declare(CLI::App&) {}
std::optional<std::string> Workload::fault(const net::TransportOptions&) { return std::nullopt; }
void Workload::write_parameters(nlohmann::ordered_json&, std::uint64_t) const {}
std::string Workload::remark(const Housekeeping&) const { return {}; }
RefusalText Workload::describe(RefusalCode code) const {
  return {std::to_string(code.value), "refused"};
}

std::span<const WorkloadType> workload_types() { return kTypes; }

std::optional<std::size_t> find_workload(std::string_view name) {
  return position_of(kTypes, name);
}

std::vector<std::string> workload_names() {
  std::vector<std::string> names;
  for (const WorkloadType& type : kTypes) names.emplace_back(type.name);
  return names;
}

std::string workloads_without(const char* WorkloadType::* obstacle) {
  std::vector<const char*> names;
  for (const WorkloadType& type : kTypes) {
    if (type.*obstacle == nullptr) names.push_back(type.name);
  }
  return fmt::format("{}", fmt::join(names, " or "));
}

std::string workload_summaries() {
  std::vector<std::string> parts;
  for (const WorkloadType& type : kTypes) {
    parts.push_back(fmt::format("{}: {}", type.name, type.summary));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace simco::loadgen
