#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <usrsctp.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "tests/bench/bare_sctp.hpp"

namespace simco::bench {
namespace {

constexpr std::size_t kBatch = 64;
constexpr std::size_t kDatagram = 2048;
int g_udp = -1;
sockaddr_in g_peer{};
std::vector<std::vector<char>> g_out;
bool g_ready = false;

int queue_packet(void*, void* packet, std::size_t size, std::uint8_t, std::uint8_t) {
  const auto* octets = static_cast<const char*>(packet);
  g_out.emplace_back(octets, octets + size);
  return 0;
}

void send_packets() {
  std::array<mmsghdr, kBatch> messages{};
  std::array<iovec, kBatch> parts{};
  for (std::size_t at = 0; at < g_out.size(); at += kBatch) {
    const auto count = std::min(kBatch, g_out.size() - at);
    for (std::size_t i = 0; i < count; ++i) {
      parts[i] = {g_out[at + i].data(), g_out[at + i].size()};
      messages[i].msg_hdr = {};
      messages[i].msg_hdr.msg_name = &g_peer;
      messages[i].msg_hdr.msg_namelen = sizeof g_peer;
      messages[i].msg_hdr.msg_iov = &parts[i];
      messages[i].msg_hdr.msg_iovlen = 1;
    }
    ::sendmmsg(g_udp, messages.data(), static_cast<unsigned>(count), 0);
  }
  g_out.clear();
}

void take_packets() {
  static std::array<std::array<char, kDatagram>, kBatch> buffers;
  std::array<mmsghdr, kBatch> messages{};
  std::array<iovec, kBatch> parts{};
  for (std::size_t i = 0; i < kBatch; ++i) {
    parts[i] = {buffers[i].data(), kDatagram};
    messages[i].msg_hdr.msg_iov = &parts[i];
    messages[i].msg_hdr.msg_iovlen = 1;
    messages[i].msg_hdr.msg_name = &g_peer;
    messages[i].msg_hdr.msg_namelen = sizeof g_peer;
  }
  const int got = ::recvmmsg(g_udp, messages.data(), kBatch, MSG_DONTWAIT, nullptr);
  for (int i = 0; i < got; ++i) {
    usrsctp_conninput(&g_udp, buffers[static_cast<std::size_t>(i)].data(),
                      messages[static_cast<std::size_t>(i)].msg_len, 0);
  }
}

void answer(struct socket* association) {
  std::array<char, 4096> in;
  for (;;) {
    sctp_rcvinfo info{};
    socklen_t info_size = sizeof info;
    unsigned type = 0;
    int flags = 0;
    sockaddr_conn from{};
    socklen_t from_size = sizeof from;
    const auto got =
        usrsctp_recvv(association, in.data(), in.size(), reinterpret_cast<sockaddr*>(&from),
                      &from_size, &info, &info_size, &type, &flags);
    if (got <= 0) return;
    sctp_sndinfo out{};
    out.snd_sid = info.rcv_sid;
    if (usrsctp_sendv(association, kBareReply.data(), kBareReply.size(), nullptr, 0, &out,
                      sizeof out, SCTP_SENDV_SNDINFO, 0) < 0) {
      die("usrsctp_sendv");
    }
  }
}

struct socket* listen_on(std::uint16_t port, bool bundle) {
  auto* listener = usrsctp_socket(AF_CONN, SOCK_STREAM, IPPROTO_SCTP, nullptr, nullptr, 0, nullptr);
  usrsctp_set_non_blocking(listener, 1);
  const int no_delay = bundle ? 0 : 1;
  usrsctp_setsockopt(listener, IPPROTO_SCTP, SCTP_NODELAY, &no_delay, sizeof no_delay);
  const int on = 1;
  usrsctp_setsockopt(listener, IPPROTO_SCTP, SCTP_RECVRCVINFO, &on, sizeof on);
  const int buffer = 1024 * 1024;
  usrsctp_setsockopt(listener, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
  usrsctp_setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
  sctp_initmsg init{16, 16, 0, 0};
  usrsctp_setsockopt(listener, IPPROTO_SCTP, SCTP_INITMSG, &init, sizeof init);
  sctp_paddrparams path{};
  path.spp_address.ss_family = AF_CONN;
  path.spp_pathmtu = 1400;  // as ours
  path.spp_flags = SPP_PMTUD_DISABLE;
  usrsctp_setsockopt(listener, IPPROTO_SCTP, SCTP_PEER_ADDR_PARAMS, &path, sizeof path);
  sockaddr_conn address{};
  address.sconn_family = AF_CONN;
  address.sconn_port = htons(port);
  if (usrsctp_bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      usrsctp_listen(listener, 8) != 0) {
    die("usrsctp_listen");
  }
  return listener;
}

void on_event(struct socket*, void*, int) { g_ready = true; }

}  // namespace

void bare_userland_server(std::uint16_t udp_port, std::uint16_t port, bool bundle) {
  g_udp = ::socket(AF_INET, SOCK_DGRAM, 0);
  const int buffer = 4 * 1024 * 1024;
  ::setsockopt(g_udp, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof buffer);
  const auto local = loopback(udp_port);
  if (::bind(g_udp, reinterpret_cast<const sockaddr*>(&local), sizeof local) != 0) die("bind");
  usrsctp_init_nothreads(0, &queue_packet, nullptr);
  usrsctp_sysctl_set_sctp_max_chunks_on_queue(16'384);
  usrsctp_sysctl_set_sctp_ecn_enable(0);
  usrsctp_register_address(&g_udp);
  auto* listener = listen_on(port, bundle);
  struct socket* association = nullptr;
  auto last = Clock::now();
  for (;;) {
    pollfd wanted{g_udp, POLLIN, 0};
    ::poll(&wanted, 1, 5);
    take_packets();
    if (association == nullptr) {
      association = usrsctp_accept(listener, nullptr, nullptr);
      if (association != nullptr) {
        usrsctp_set_non_blocking(association, 1);
        usrsctp_set_upcall(association, &on_event, nullptr);
        g_ready = true;
      }
    }
    if (association != nullptr && std::exchange(g_ready, false)) answer(association);
    const auto now = Clock::now();
    const auto elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(now - last);
    if (elapsed.count() >= 5) {
      last += elapsed;
      usrsctp_handle_timers(static_cast<std::uint32_t>(elapsed.count()));
    }
    send_packets();
  }
}

}  // namespace simco::bench
