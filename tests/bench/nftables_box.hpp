// The common part of the benchmarks of a middlebox on a router: the middlebox, and its load.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/bench/bare_nftables.hpp"
#include "tests/bench/session_driver.hpp"

namespace simco::bench {

inline std::string middlebox_program;  ///< path to simco-middlebox
inline int rounds = 5;

inline constexpr std::uint16_t kMediaPort = 16384;
inline constexpr std::uint32_t kForwardPackets = 300'000;
inline constexpr std::uint32_t kMany = 100'000;

inline void require_all(std::uint64_t arrived) {
  if (arrived >= kForwardPackets * 99ULL / 100) return;
  std::fprintf(stderr, "only %llu of %u packets came through\n",
               static_cast<unsigned long long>(arrived), kForwardPackets);
  std::exit(1);
}

inline double cpu_seconds_of(pid_t process) {
  clockid_t clock = 0;
  if (::clock_getcpuclockid(process, &clock) != 0) die("clock_getcpuclockid");
  return seconds_of(clock);
}

/// A running middlebox with an open session.
class Box {
 public:
  explicit Box(const std::string& backend, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {
        middlebox_program, "--port", std::to_string(kPort), "--max-rules", "20000000",
        "--log-level",     "error"};
    if (backend == "nftables") {
      words.insert(words.end(), {"--backend", "nftables", "--internal-if", "int0", "--external-if",
                                 "ext0", "--keep-rules=false"});
    }
    words.insert(words.end(), more.begin(), more.end());
    server_ = start(0, words);
    session_ = connect_to(kPort);
    open_session(session_);
  }
  ~Box() {
    ::close(session_);
    ::kill(server_, SIGTERM);
    ::waitpid(server_, nullptr, 0);
  }
  double add(std::uint32_t count, std::uint32_t window) {
    const double rate = drive(session_, count, window, rules_);
    rules_ += count;
    return rate;
  }
  /// One rule of a NAT.
  void add_binding() { drive(session_, 1, 1, rules_++, kNatReplySize); }
  void check() const { check_last_rule(); }
  /// Processor time that the middlebox has taken.
  double cpu_seconds() const { return cpu_seconds_of(server_); }
  /// Rules for hosts from 10.0.0.0 on.
  void add_hosts(std::uint32_t first, std::uint32_t count, std::size_t reply_size = kReplySize) {
    drive(session_, count, std::min(count, 256U), 0x0A00'0000 + first, reply_size);
  }

 private:
  pid_t server_;
  int session_;
  std::uint32_t rules_ = 0;
};

/// Starts a server and has it do `count` PERs.
template <typename Server, typename... Options>
Speed run(std::uint32_t count, std::uint32_t window, const Options&... options) {
  Server server(options...);
  const double cpu_before = server.cpu_seconds();
  const double rate = server.add(count, window);
  const double cpu = server.cpu_seconds() - cpu_before;
  server.check();
  return {rate, cpu * 1e6 / count};
}

inline Speed run_box(const std::string& backend, std::uint32_t count, std::uint32_t window,
                     const std::vector<std::string>& more = {}) {
  return run<Box>(count, window, backend, more);
}

/// Packets that the fast path takes, and their cost; prints both.
void bench_fast_path();

}  // namespace simco::bench
