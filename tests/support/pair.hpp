// High availability: two routers that share addresses by VRRP (keepalived) and rules by Redis, as
// doc/high-availability.md has them, between a host inside and a host outside.
#pragma once

#include <memory>
#include <string>

#include "tests/support/network.hpp"
#include "tests/support/program.hpp"

namespace simco::test {

/// Three Ethernets, as bridges in a namespace of their own: in, out and sync.
class Ethernets {
 public:
  Ethernets();
  /// Wires interface `name` of `host` to bridge `bridge`.
  void wire(const NetworkNamespace& host, const std::string& name, const std::string& bridge);

 private:
  NetworkNamespace switches_;
  int ports_ = 0;
};

/// One of the two routers, with everything that runs on it.
class PairBox {
 public:
  /// Keeps its files in `folder`/`number`. `advert_int`: of VRRP, in seconds. The middlebox has the
  /// `options` besides.
  PairBox(Ethernets& ethernets, const std::string& folder, int number,
          const std::string& advert_int, const Words& options);
  ~PairBox();

  void boot();
  /// Has its VRRP advertise so often, in seconds, from now on.
  void advertise_every(const std::string& advert_int) const;
  /// Sends a signal to its VRRP.
  void signal_vrrp(int number) const;
  /// Runs conntrackd with the configuration that the project ships.
  void copy_connections();
  /// As when its plug is pulled.
  void die();
  /// The beginning of die(): nothing reaches it or leaves it any more.
  void unplug();
  /// Its middlebox serves agents.
  bool serves() const;
  /// Its middlebox stands by, and its Redis has what the other one has.
  bool follows() const;
  /// Its kernel has an element with this port.
  bool enforces(std::uint16_t port) const;
  /// What its redis-cli answers.
  std::string redis(const std::string& command) const;
  /// As systemctl does.
  void stop_middlebox();
  void start_middlebox();
  /// Sends a signal to its middlebox.
  void signal(int number) const;
  /// Calls simco-takeover for that, while its Redis stands still.
  void lose_place_without_redis();
  /// The logs of middlebox and keepalived.
  std::string said() const;

  NetworkNamespace host;

 private:
  void write_keepalived_configuration(const std::string& advert_int) const;
  void write_service(const Words& options) const;

  std::string folder_;
  std::string number_;
  std::string peer_;
  std::unique_ptr<Program> redis_;
  std::unique_ptr<Program> keepalived_;
  std::unique_ptr<Program> takeover_;
  std::unique_ptr<Program> conntrackd_;
  bool alive_ = false;
};

/// The router is 10.0.0.1 inside and 192.0.2.1 outside, where agents find it. The hosts are
/// 10.0.0.2 and 192.0.2.2. Their further addresses 10.0.0.3 and 192.0.2.3 reach each other by the
/// second box.
class Pair {
 public:
  /// Makes a NAT of it, with the address 192.0.2.20.
  static const Words kNat;
  Pair(const std::string& folder, const std::string& advert_int, const Words& options);
  /// The first box serves and the second follows. Returns false if they do not.
  bool boot();

 private:
  Ethernets ethernets_;

 public:
  NetworkNamespace inside;
  NetworkNamespace outside;
  PairBox first;
  PairBox second;
};

}  // namespace simco::test
