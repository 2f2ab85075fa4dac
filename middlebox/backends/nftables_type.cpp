// The options of the nftables backend: interfaces, its table, and what of it outlives the process.
#include "middlebox/backends/nftables_type.hpp"

#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>

#include "middlebox/backend/nftables/nftables_backend.hpp"
#include "middlebox/config/options.hpp"
#include "middlebox/limits.hpp"

namespace simco::middlebox {
namespace {

/// Warns if IP forwarding is disabled, a common mistake.
void warn_unless_forwarding() {
  for (const char* path :
       {"/proc/sys/net/ipv4/ip_forward", "/proc/sys/net/ipv6/conf/all/forwarding"}) {
    std::FILE* file = std::fopen(path, "r");
    if (file == nullptr) continue;
    if (std::fgetc(file) == '0') spdlog::warn("{} is 0: the kernel forwards no packets", path);
    std::fclose(file);
  }
}

bool is_plain(const std::string& name) {
  return !name.empty() && name.size() <= kTableNameMax &&
         name.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQR"
             "STUVWXYZ0123456789_-") == std::string::npos;
}

}  // namespace

void NftablesType::declare(CLI::App& app) {
  app.add_option("--internal-if", options_.internal_if,
                 "nftables: interface towards the internal network");
  app.add_option("--external-if", options_.external_if,
                 "nftables: interface towards the external network");
  app.add_option("--table", options_.table, "nftables: name of the table (family inet)")
      ->capture_default_str();
  app.add_option(
         "--table-mode", table_mode_,
         "nftables: own (the middlebox has a table of its own) or shared (it uses the site's "
         "table, whose chains jump to simco-forward, simco-prerouting and simco-postrouting)")
      ->check(CLI::IsMember({"own", "shared"}))
      ->capture_default_str();
  app.add_option("--claim-table", claim_table_,
                 "nftables: auto (from Linux 6.9 on, prevent other programs from changing or "
                 "flushing the middlebox's own table while it runs) or no (allow it, and repair "
                 "the table afterwards)")
      ->check(CLI::IsMember({"auto", "no"}))
      ->capture_default_str();
  app.add_flag(
      "--allow-outbound", options_.allow_outbound,
      "nftables: let flows from internal to external pass without rules, with their replies");
  app.add_flag_function(
      "--keep-rules", [this](std::int64_t count) { keep_rules_ = count > 0; },
      "nftables: an orderly stop leaves the table in the kernel, so that a restart has no gap: "
      "rules stay in force until they expire, all other traffic stays blocked (default; "
      "--keep-rules=false turns it off)");
}

std::optional<std::string> NftablesType::check(bool chosen, const Settings&) {
  const auto& internal = options_.internal_if;
  const auto& external = options_.external_if;
  if (!chosen) {
    if (internal.empty() && external.empty()) return std::nullopt;
    return "--internal-if and --external-if require --backend nftables";
  }
  if (internal.empty() || external.empty()) {
    return "--backend nftables requires --internal-if NAME and --external-if NAME";
  }
  if (internal == external) {
    return "--internal-if and --external-if must name different interfaces";
  }
  if (!is_plain(options_.table)) {
    return "--table: expected a name of letters, digits, - and _, got '" + options_.table + "'";
  }
  options_.own_table = table_mode_ == "own";
  options_.claim_table = claim_table_ == "auto";
  // A restart must not open what was closed.
  options_.keep_on_stop = keep_rules_;
  return std::nullopt;
}

std::unique_ptr<backend::Backend> NftablesType::make(boost::asio::io_context& io,
                                                     const Settings& settings) const {
  const auto& nat = settings.server.nat;
  auto options = options_;
  options.nat = nat.mode != policy::Mode::kFirewall;
  const auto pool_of = [](const policy::AddressRange& range) {
    return backend::nftables::Pool{range.first, policy::advance(range.first, range.count - 1)};
  };
  for (const auto& range : nat.outside) options.outside_pool.push_back(pool_of(range));
  for (const auto& range : nat.inside) options.inside_pool.push_back(pool_of(range));
  options.first_port = nat.first_port;
  options.last_port = nat.last_port;
  auto backend = std::make_unique<backend::nftables::NftablesBackend>(io, options);
  warn_unless_forwarding();
  spdlog::info("backend nftables: table inet {}, internal {}, external {}", options.table,
               options.internal_if, options.external_if);
  return backend;
}

std::unique_ptr<BackendType> make_nftables_type() { return std::make_unique<NftablesType>(); }

}  // namespace simco::middlebox
