// The program is written in BPF's instructions: there is nothing to compile and no library to link.
#include "tests/bench/packet_source.hpp"

#include <arpa/inet.h>
#include <linux/bpf.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "tests/bench/session_driver.hpp"

namespace simco::bench {
namespace {

constexpr std::size_t kFrame = 214;
constexpr std::uint32_t kBatch = 64;
constexpr std::int16_t kIdAt = 14 + 4;
constexpr std::int16_t kTtlAt = 14 + 8;
constexpr std::int16_t kSourceAt = 14 + 12;
constexpr std::int16_t kTargetAt = 14 + 16;
constexpr std::int16_t kPortsAt = 14 + 20;

constexpr bpf_insn instruction(int code, int to, int from, std::int16_t offset,
                               std::int32_t value) {
  return {static_cast<__u8>(code), static_cast<__u8>(to & 15), static_cast<__u8>(from & 15), offset,
          value};
}
constexpr bpf_insn set(int to, int from) {
  return instruction(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0);
}
constexpr bpf_insn set_value(int to, std::int32_t value) {
  return instruction(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value);
}
constexpr bpf_insn compute(int operation, int to, std::int32_t value) {
  return instruction(BPF_ALU | operation | BPF_K, to, 0, 0, value);
}
constexpr bpf_insn compute_with(int operation, int to, int from) {
  return instruction(BPF_ALU | operation | BPF_X, to, from, 0, 0);
}
constexpr bpf_insn call(int helper) { return instruction(BPF_JMP | BPF_CALL, 0, 0, 0, helper); }
constexpr bpf_insn load(int to, int from, std::int16_t offset) {
  return instruction(BPF_LDX | BPF_MEM | BPF_W, to, from, offset, 0);
}
/// Stores the four octets that `frame` has there.
bpf_insn restore(std::int16_t offset, std::span<const std::uint8_t> frame) {
  std::int32_t octets = 0;
  std::memcpy(&octets, frame.data() + offset, sizeof octets);
  return instruction(BPF_ST | BPF_MEM | BPF_W, 6, 0, offset, octets);
}
constexpr bpf_insn big_endian(int reg, int bits) {
  return instruction(BPF_ALU | BPF_END | BPF_TO_BE, reg, 0, 0, bits);
}

/// Writes the address of one of many, and the identification so that the sum over the header stays
/// the same; and the fields that a router has changed, since the kernel uses the memory of its
/// packets again.
std::vector<bpf_insn> program_for(std::uint32_t interface, const PacketFlows& flows,
                                  std::span<const std::uint8_t> frame) {
  return {
      load(6, 1, 0),  // data
      load(7, 1, 4),  // data_end
      set(1, 6),
      instruction(BPF_ALU64 | BPF_ADD | BPF_K, 1, 0, 0, static_cast<int>(kFrame)),
      instruction(BPF_JMP | BPF_JLE | BPF_X, 1, 7, 2, 0),
      set_value(0, XDP_DROP),
      instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
      restore(0, frame),
      restore(4, frame),
      restore(8, frame),
      restore(kTtlAt, frame),
      restore(kSourceAt, frame),
      restore(kTargetAt, frame),
      restore(kPortsAt, frame),
      call(BPF_FUNC_get_prandom_u32),
      compute(BPF_MOD, 0, static_cast<std::int32_t>(flows.flows)),
      compute(BPF_ADD, 0, static_cast<std::int32_t>(flows.first)),
      instruction(BPF_ALU | BPF_MOV | BPF_X, 2, 0, 0, 0),
      compute(BPF_RSH, 2, 16),
      instruction(BPF_ALU | BPF_MOV | BPF_X, 3, 0, 0, 0),
      compute(BPF_AND, 3, 0xFFFF),
      compute_with(BPF_ADD, 2, 3),
      instruction(BPF_ALU | BPF_MOV | BPF_K, 4, 0, 0, 2 * 0xFFFF),
      compute_with(BPF_SUB, 4, 2),
      instruction(BPF_ALU | BPF_MOV | BPF_X, 5, 4, 0, 0),
      compute(BPF_RSH, 5, 16),
      compute(BPF_AND, 4, 0xFFFF),
      compute_with(BPF_ADD, 4, 5),
      big_endian(0, 32),
      instruction(BPF_STX | BPF_MEM | BPF_W, 6, 0, flows.to_the_one ? kSourceAt : kTargetAt, 0),
      big_endian(4, 16),
      instruction(BPF_STX | BPF_MEM | BPF_H, 6, 4, kIdAt, 0),
      set_value(1, static_cast<std::int32_t>(interface)),
      set_value(2, 0),
      call(BPF_FUNC_redirect),
      instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
  };
}

std::uint16_t checksum_of(std::span<const std::uint8_t> octets) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i + 1 < octets.size(); i += 2)
    sum += static_cast<std::uint32_t>(octets[i] << 8 | octets[i + 1]);
  while (sum >> 16 != 0) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

std::array<std::uint8_t, kFrame> frame_of(const PacketFlows& flows) {
  std::array<std::uint8_t, kFrame> frame{};
  std::copy(flows.router.begin(), flows.router.end(), frame.begin());
  frame[6] = 2;  // a source of its own
  frame[12] = 8;
  iphdr ip{};
  ip.version = 4;
  ip.ihl = 5;
  ip.tot_len = htons(kFrame - 14);
  ip.ttl = 64;
  ip.protocol = IPPROTO_UDP;
  (flows.to_the_one ? ip.daddr : ip.saddr) = htonl(flows.one);
  std::memcpy(frame.data() + 14, &ip, sizeof ip);
  const std::uint16_t check = htons(checksum_of(std::span(frame).subspan(14, sizeof ip)));
  std::memcpy(frame.data() + 14 + 10, &check, sizeof check);
  const udphdr udp{{{htons(flows.port), htons(flows.port), htons(kFrame - 14 - sizeof ip), 0}}};
  std::memcpy(frame.data() + 14 + sizeof ip, &udp, sizeof udp);
  return frame;
}

long bpf(int command, bpf_attr& attributes) {
  return ::syscall(SYS_bpf, command, &attributes, sizeof attributes);
}

int load_program(const std::vector<bpf_insn>& program) {
  bpf_attr load{};
  load.prog_type = BPF_PROG_TYPE_XDP;
  load.insns = std::bit_cast<__u64>(program.data());
  load.insn_cnt = static_cast<__u32>(program.size());
  const char* const license = "Dual BSD/GPL";
  load.license = std::bit_cast<__u64>(license);
  const long loaded = bpf(BPF_PROG_LOAD, load);
  if (loaded < 0) die("packets are made by BPF, which needs root's rights");
  return static_cast<int>(loaded);
}

/// Adds 1 to the first element of the map `counter`, and drops.
std::vector<bpf_insn> sink_program(int counter) {
  return {
      instruction(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 0),
      set(2, 10),
      instruction(BPF_ALU64 | BPF_ADD | BPF_K, 2, 0, 0, -4),
      instruction(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, counter),
      instruction(0, 0, 0, 0, 0),
      call(BPF_FUNC_map_lookup_elem),
      instruction(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2, 0),
      set_value(1, 1),
      instruction(BPF_STX | BPF_ATOMIC | BPF_DW, 0, 1, 0, BPF_ADD),
      set_value(0, XDP_DROP),
      instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
  };
}

/// Not the time of day: other programs may have the core, and a test run waits for all cores at its
/// beginning and end.
double own_time_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

/// When the core is wanted elsewhere, a thread of the kernel goes on with the packets.
double deferred_time_ns() {
  static const std::string path = [] {
    for (const auto& process : std::filesystem::directory_iterator("/proc")) {
      std::string name;
      std::ifstream(process.path() / "comm") >> name;
      if (name == "ksoftirqd/1") return (process.path() / "schedstat").string();
    }
    return std::string();  // one core, or a container
  }();
  double time = 0;
  if (!path.empty()) std::ifstream(path) >> time;
  return time;
}

/// The argument of ioctl() for `interface`.
ifreq about(const char* interface) {
  ifreq request{};
  std::strncpy(request.ifr_name, interface, IFNAMSIZ - 1);
  return request;
}

void ask(unsigned long what, ifreq& request) {
  const int socket = ::socket(AF_INET, SOCK_DGRAM, 0);
  if (::ioctl(socket, what, &request) != 0) die(request.ifr_name);
  ::close(socket);
}

}  // namespace

double send_packets(const char* interface, const PacketFlows& flows, std::uint32_t count) {
  const auto frame = frame_of(flows);
  const int program = load_program(program_for(::if_nametoindex(interface), flows, frame));
  bpf_attr run{};
  run.test.prog_fd = static_cast<__u32>(program);
  run.test.data_in = std::bit_cast<__u64>(frame.data());
  run.test.data_size_in = kFrame;
  run.test.repeat = (count + kBatch - 1) / kBatch * kBatch;
  run.test.flags = BPF_F_TEST_XDP_LIVE_FRAMES;
  run.test.batch_size = kBatch;
  const double before = own_time_ns() + deferred_time_ns();
  if (bpf(BPF_PROG_TEST_RUN, run) < 0) die("BPF_PROG_TEST_RUN");
  const double after = own_time_ns() + deferred_time_ns();
  ::close(program);
  return (after - before) / run.test.repeat;
}

PacketSink::PacketSink(const char* interface) {
  bpf_attr create{};
  create.map_type = BPF_MAP_TYPE_ARRAY;
  create.key_size = 4;
  create.value_size = 8;
  create.max_entries = 1;
  counter_ = static_cast<int>(bpf(BPF_MAP_CREATE, create));
  if (counter_ < 0) die("packets are counted by BPF, which needs root's rights");
  const int program = load_program(sink_program(counter_));
  bpf_attr link{};
  link.link_create.prog_fd = static_cast<__u32>(program);
  link.link_create.target_ifindex = ::if_nametoindex(interface);
  link.link_create.attach_type = BPF_XDP;
  link.link_create.flags = XDP_FLAGS_DRV_MODE;
  link_ = static_cast<int>(bpf(BPF_LINK_CREATE, link));
  if (link_ < 0) die(interface);
  ::close(program);
}

PacketSink::~PacketSink() {
  ::close(link_);
  ::close(counter_);
}

std::uint64_t PacketSink::arrived() const {
  const std::uint32_t first = 0;
  std::uint64_t count = 0;
  bpf_attr look{};
  look.map_fd = static_cast<__u32>(counter_);
  look.key = std::bit_cast<__u64>(&first);
  look.value = std::bit_cast<__u64>(&count);
  if (bpf(BPF_MAP_LOOKUP_ELEM, look) < 0) die("BPF_MAP_LOOKUP_ELEM");
  return count;
}

void receive_as_a_card(const char* interface) {
  ifreq request = about(interface);
  ethtool_value on{ETHTOOL_SGRO, 1};
  request.ifr_data = reinterpret_cast<char*>(&on);
  ask(SIOCETHTOOL, request);
}

std::array<std::uint8_t, 6> hardware_address(const char* interface) {
  ifreq request = about(interface);
  ask(SIOCGIFHWADDR, request);
  std::array<std::uint8_t, 6> address{};
  std::memcpy(address.data(), request.ifr_hwaddr.sa_data, address.size());
  return address;
}

}  // namespace simco::bench
