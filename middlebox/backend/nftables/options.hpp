// The settings of the nftables backend.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "middlebox/backend/nftables/guard.hpp"
#include "middlebox/backend/nftables/limits.hpp"
#include "simco/wire/instant.hpp"
#include "simco/wire/ip.hpp"

namespace simco::backend::nftables {

/// A range of addresses, both ends included.
struct Pool {
  IpAddress first;
  IpAddress last;
};

/// Which packets between the two interfaces the kernel's connection tracking follows.
enum class Tracking : std::uint8_t {
  kAll,  ///< all: our rules ask for the flow that an ICMP error is about
  /// Our rules ask for it only to tell which side began a TCP connection. Those that go by the
  /// headers of ICMP errors are printed by nft in a form that it does not read back.
  kNeeded,
  kNotrack,  ///< as kNeeded; UDP is not even tracked if others, such as the site's rules, ask for
             ///< it
};

struct Options {
  std::string table = "simco";  ///< of family inet
  /// False: the table is the site's; its chains jump to our chains, which have a "simco-" before
  /// their names, and packets that no rule of ours decides go back to the site's.
  bool own_table = true;
  /// If the kernel can (Linux 6.9), the own table belongs to this process: no other program
  /// can change or flush it while we run, and it stays after a crash.
  bool claim_table = true;
  /// The router's interface to the internal network; empty: nothing is forwarded.
  std::string internal_if;
  std::string external_if;  ///< and to the external network
  /// Ports of this machine that packets from other machines need a rule for.
  std::vector<Guard> guards;
  bool guard_anyway = false;  ///< even if that cuts a connection which is open at the start
  /// Flows that the internal network begins may pass without a rule, with their replies.
  bool allow_outbound = false;
  bool keep_on_stop = false;  ///< leave the table when the middlebox stops
  bool nat = false;           ///< translate, once or twice
  /// With `nat` and `allow_outbound`, everything needs it. The backend asks the kernel whether it
  /// can do without.
  Tracking tracking = Tracking::kAll;
  /// Count the traffic of each rule; an even port and the next are two elements then.
  bool counters = false;
  /// Enable rules hold while there is a lease (Backend::lease()).
  bool leased = false;
  /// Look up where the sources of packets from outside belong; the backend asks the kernel.
  bool check_sources = true;
  std::vector<Pool> outside_pool;   ///< NAT: addresses whose ports belong to the bindings
  std::vector<Pool> inside_pool;    ///< twice NAT
  std::uint16_t first_port = 1024;  ///< of the pools
  std::uint16_t last_port = 65535;
  // Tests have less patience, fewer rules, and may have a clock of their own.
  std::chrono::milliseconds set_idle = kSetIdle;
  std::size_t install_octets = kInstallOctets;
  std::function<Instant()> now = std::chrono::steady_clock::now;
};

/// The prefix of our names in a table of the site's.
inline constexpr const char* kSitePrefix = "simco-";

/// True if packets between two interfaces are judged.
inline bool forwards(const Options& options) { return !options.internal_if.empty(); }

/// True if our rules ask for the flow of every packet, and so have the kernel track it.
inline bool tracks_all(const Options& options) {
  return options.nat || options.allow_outbound || options.tracking == Tracking::kAll;
}

/// The name of one of our chains or sets in the kernel.
inline std::string name_in_kernel(const Options& options, const std::string& name) {
  return (options.own_table ? "" : kSitePrefix) + name;
}

}  // namespace simco::backend::nftables
