#include <netinet/in.h>
#include <netinet/sctp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "tests/bench/bare_sctp.hpp"

namespace simco::bench {
namespace {

/// The stream of the next message, or -1 where there is none at the moment.
int receive(int fd) {
  std::array<char, 4096> in;
  iovec part{in.data(), in.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(sctp_rcvinfo))> control;
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const auto got = ::recvmsg(fd, &message, MSG_DONTWAIT);
  if (got == 0) std::exit(0);
  if (got < 0 && errno != EAGAIN) std::exit(0);
  auto* item = got < 0 ? nullptr : CMSG_FIRSTHDR(&message);
  if (item == nullptr) return -1;
  sctp_rcvinfo info{};
  std::memcpy(&info, CMSG_DATA(item), sizeof info);
  return info.rcv_sid;
}

void reply(int fd, int stream, bool more) {
  static auto out = kBareReply;
  iovec part{out.data(), out.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(sctp_sndinfo))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  auto* item = CMSG_FIRSTHDR(&message);
  item->cmsg_level = IPPROTO_SCTP;
  item->cmsg_type = SCTP_SNDINFO;
  item->cmsg_len = CMSG_LEN(sizeof(sctp_sndinfo));
  sctp_sndinfo info{};
  info.snd_sid = static_cast<std::uint16_t>(stream);
  std::memcpy(CMSG_DATA(item), &info, sizeof info);
  if (::sendmsg(fd, &message, MSG_NOSIGNAL | (more ? MSG_MORE : 0)) < 0) std::exit(0);
}

}  // namespace

void bare_kernel_server(std::uint16_t port, bool bundle) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP);
  if (listener < 0) die("socket");
  const int on = 1;
  const int buffer = 4 * 1024 * 1024;
  ::setsockopt(listener, IPPROTO_SCTP, SCTP_NODELAY, &on, sizeof on);
  ::setsockopt(listener, IPPROTO_SCTP, SCTP_RECVRCVINFO, &on, sizeof on);
  ::setsockopt(listener, SOL_SOCKET, SO_SNDBUFFORCE, &buffer, sizeof buffer);
  ::setsockopt(listener, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof buffer);
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const sctp_initmsg init{16, 16, 0, 0};
  ::setsockopt(listener, IPPROTO_SCTP, SCTP_INITMSG, &init, sizeof init);
  const auto address = loopback(port);
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    die("bind");
  }
  ::listen(listener, 8);
  const int fd = ::accept(listener, nullptr, nullptr);
  ::setsockopt(fd, IPPROTO_SCTP, SCTP_RECVRCVINFO, &on, sizeof on);
  std::vector<int> streams;
  for (;;) {
    pollfd wanted{fd, POLLIN, 0};
    ::poll(&wanted, 1, -1);
    streams.clear();
    for (int stream = receive(fd); stream >= 0; stream = receive(fd)) streams.push_back(stream);
    for (std::size_t i = 0; i < streams.size(); ++i) {
      reply(fd, streams[i], bundle && i + 1 < streams.size());
    }
  }
}

}  // namespace simco::bench
