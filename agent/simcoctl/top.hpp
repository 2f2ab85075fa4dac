// simcoctl top: a live view of a middlebox, from its metrics.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "agent/simcoctl/exposition.hpp"
#include "simco/net/endpoint.hpp"

namespace simco::ctl {

/// Options of the command.
struct Top {
  net::HostPort metrics{"127.0.0.1", 9464};
  std::chrono::milliseconds interval{1000};
  std::uint64_t count = 0;  ///< exit after this many updates; 0: never
};

/// Rates between two readings of the metrics, and the levels at the second.
struct View {
  struct Transactions {
    std::string type;
    double per_s = 0;
    double refused_per_s = 0;
  };
  struct Refusals {
    std::string reply;  ///< the code, such as "0x0341"
    std::string words;
    double per_s = 0;
    double total = 0;  ///< since the start of the middlebox
  };
  struct Phase {
    std::string name;
    double mean_s = 0, p50_s = 0, p99_s = 0;
  };
  struct Pool {
    std::string name;
    double addresses = 0, addresses_in_use = 0, ports_in_use = 0;
  };
  std::string version;
  double connections = 0, sessions = 0, groups = 0;
  double reserved = 0, enabled = 0, disable = 0;
  std::vector<Transactions> transactions;  ///< by type
  std::vector<Refusals> refusals;          ///< by code, if there were any
  std::vector<Phase> phases;               ///< with observations
  double batch_mean = 0, batch_p99 = 0;
  double expired_per_s = 0;
  double backend_refused_per_s = 0, backend_no_resources_per_s = 0;
  double authentication_failures_per_s = 0, sessions_refused_per_s = 0;
  double store_failures = 0;  ///< since the start of the middlebox
  std::vector<Pool> pools;    ///< with addresses
};

/// Returns the view for two readings, `seconds` apart.
View compare(const Exposition& before, const Exposition& now, double seconds);
/// Returns the view as text.
std::string to_text(const View& view);
/// Returns the view as a line of JSON.
std::string to_json(const View& view);

/// Prints views until `top.count` is reached or the program is interrupted. Returns the exit
/// status.
int run_top(const Top& top, bool json);

}  // namespace simco::ctl
