#include "tests/bench/forwarding.hpp"

namespace simco::bench {

Forwarding::Forwarding() {
  router.shell(
      "ip link add int0 type veth peer name eth0; ip link set eth0 netns " + inside.path() +
      "; ip link add ext0 type veth peer name eth0; ip link set eth0 netns " + outside.path() +
      "; ip addr add 10.255.255.254/8 dev int0; ip addr add 192.0.2.1/24 dev ext0; ip link set "
      "int0 "
      "up; ip link set ext0 up; for i in int0 ext0; do ethtool -K $i rxvlan off "
      "rx-vlan-stag-hw-parse off >/dev/null; done; echo 1 > /proc/sys/net/ipv4/ip_forward");
  router.enter();  // the thread that starts a middlebox has to live as long as it does
  // Every address of 10.0.0.0/8 is the internal host's, and the router need not ask for each.
  inside.shell(
      "ip link set eth0 address 02:00:00:00:00:01; ip link set eth0 up; "
      "ip route add local 10.0.0.0/8 dev eth0; ip route add default dev eth0");
  router.shell(
      "ip neigh add 10.255.255.1 lladdr 02:00:00:00:00:01 dev int0; "
      "ip route add 10.0.0.0/9 via 10.255.255.1 dev int0; "
      "ip neigh add 192.0.2.2 lladdr 02:00:00:00:00:02 dev ext0");
  outside.shell(
      "ip link set eth0 address 02:00:00:00:00:02; "
      "ip addr add 192.0.2.2/24 dev eth0; ip link set eth0 up; "
      "ip route add default via 192.0.2.1");
}

}  // namespace simco::bench
