// Sets the options of an association, and reads its messages and the notifications between them.
#include "simco/net/sctp/kernel.hpp"

#include <netinet/in.h>
#include <netinet/sctp.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cerrno>
#include <cstring>

#include "simco/net/endpoint.hpp"
#include "simco/net/error.hpp"
#include "simco/net/sctp/limits.hpp"
#include "simco/net/sctp/stack_options.hpp"

namespace simco::net::sctp {
namespace {

using boost::system::error_code;

template <class Value>
bool set(int fd, int level, int name, const Value& value) {
  return ::setsockopt(fd, level, name, &value, sizeof value) == 0;
}

/// Small messages cost the kernel about 700 octets of its accounting each: with its default of 208
/// KiB, 200 of them fill a buffer, and the receiver drops further messages, which are retransmitted
/// a second later.
void set_buffers(int fd, std::uint32_t wanted) {
  const int octets = static_cast<int>(wanted == 0 ? kKernelSctpBuffer : wanted);
  if (!set(fd, SOL_SOCKET, SO_RCVBUFFORCE, octets)) set(fd, SOL_SOCKET, SO_RCVBUF, octets);
  if (!set(fd, SOL_SOCKET, SO_SNDBUFFORCE, octets)) set(fd, SOL_SOCKET, SO_SNDBUF, octets);
}

sctp_status status_of(int fd) {
  sctp_status status{};
  socklen_t size = sizeof status;
  if (::getsockopt(fd, IPPROTO_SCTP, SCTP_STATUS, &status, &size) != 0) return {};
  return status;
}

/// The kernel tells round-trip times in its ticks, whose length the coarse clock gives away.
double tick_ms() {
  timespec resolution{};
  ::clock_getres(CLOCK_MONOTONIC_COARSE, &resolution);
  return static_cast<double>(resolution.tv_nsec) / 1e6;
}

/// The kernel tells why an association did not come up with the socket only.
error_code why_not_started(int fd) {
  int number = 0;
  socklen_t size = sizeof number;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &number, &size) != 0 || number == 0) {
    return boost::asio::error::connection_refused;
  }
  return {number, boost::system::system_category()};
}

}  // namespace

std::expected<int, error_code> open_kernel_socket(int family, const SctpOptions& options) {
  const int fd = ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_SCTP);
  if (fd < 0) {
    const bool none = errno == EPROTONOSUPPORT || errno == ESOCKTNOSUPPORT;
    return std::unexpected(none ? make_error_code(NetError::kNoKernelSctp) : last_system_error());
  }
  set_initiation(options,
                 [fd](int name, const auto& value) { set(fd, IPPROTO_SCTP, name, value); });
  set_buffers(fd, options.buffer);
  set_kernel_options(fd, options);
  return fd;
}

void set_kernel_options(int fd, const SctpOptions& options) {
  set_common_options(options,
                     [fd](int name, const auto& value) { set(fd, IPPROTO_SCTP, name, value); });
  set(fd, IPPROTO_SCTP, SCTP_PEER_ADDR_PARAMS, path_parameters(options));
  sctp_assoc_value scheduler{};
  scheduler.assoc_value =
      options.scheduler == SctpScheduler::kRoundRobin ? SCTP_SS_RR : SCTP_SS_FCFS;
  set(fd, IPPROTO_SCTP, SCTP_STREAM_SCHEDULER, scheduler);
}

KernelSocket::KernelSocket(const boost::asio::any_io_executor& executor, int fd)
    : descriptor_(executor, fd) {}

KernelSocket::~KernelSocket() { abort(); }

int KernelSocket::fd() const {
  return const_cast<boost::asio::posix::stream_descriptor&>(descriptor_).native_handle();
}

// --- Data --------------------------------------------------------------------------------------

Input KernelSocket::receive(std::span<std::byte> buffer) {
  iovec part{buffer.data(), buffer.size()};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(sctp_rcvinfo))> control;
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const auto got = ::recvmsg(fd(), &message, MSG_DONTWAIT);
  if (got == 0) return Input(Input::Kind::kEnd);
  if (got < 0) {
    if (errno == EAGAIN || errno == EINTR) return {};
    if (errno == ECONNRESET) {
      return Input(make_error_code(NetError::kAssociationAborted));
    }
    return Input(last_system_error());
  }
  const auto size = static_cast<std::size_t>(got);
  if ((message.msg_flags & MSG_NOTIFICATION) != 0) {
    return judge_notification(buffer.first(size), [this](bool) { return why_not_started(fd()); });
  }
  Input input(Input::Kind::kData);
  input.size = size;
  input.complete = (message.msg_flags & MSG_EOR) != 0;
  for (auto* item = CMSG_FIRSTHDR(&message); item != nullptr; item = CMSG_NXTHDR(&message, item)) {
    if (item->cmsg_level != IPPROTO_SCTP || item->cmsg_type != SCTP_RCVINFO) continue;
    sctp_rcvinfo info{};
    std::memcpy(&info, CMSG_DATA(item), sizeof info);
    input.delivery = {StreamId{info.rcv_sid}, (info.rcv_flags & SCTP_UNORDERED) != 0};
  }
  return input;
}

error_code KernelSocket::send(std::span<const std::byte> octets, Delivery delivery,
                              Sending sending) {
  iovec part{const_cast<std::byte*>(octets.data()), octets.size()};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(sctp_sndinfo))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  auto* item = CMSG_FIRSTHDR(&message);
  item->cmsg_level = IPPROTO_SCTP;
  item->cmsg_type = SCTP_SNDINFO;
  item->cmsg_len = CMSG_LEN(sizeof(sctp_sndinfo));
  const auto info = send_info(delivery, sending);
  std::memcpy(CMSG_DATA(item), &info, sizeof info);
  // Not sctp_sendv(): it drops the flags.
  const int flags = MSG_DONTWAIT | MSG_NOSIGNAL | (sending.more ? MSG_MORE : 0);
  while (::sendmsg(fd(), &message, flags) < 0) {
    if (errno == EAGAIN) return boost::asio::error::would_block;
    if (errno != EINTR) return last_system_error();
  }
  return {};
}

void KernelSocket::wait(boost::asio::posix::stream_descriptor::wait_type what, Ready ready) {
  descriptor_.async_wait(what, [ready = std::move(ready)](const error_code& error) mutable {
    if (!error) ready();
  });
}

void KernelSocket::wait_readable(Ready ready) {
  wait(boost::asio::posix::stream_descriptor::wait_read, std::move(ready));
}

void KernelSocket::wait_writable(Ready ready) {
  wait(boost::asio::posix::stream_descriptor::wait_write, std::move(ready));
}

// --- The end -----------------------------------------------------------------------------------

void KernelSocket::shutdown() { ::shutdown(fd(), SHUT_WR); }

void KernelSocket::close() {
  error_code ignored;
  descriptor_.close(ignored);
}

void KernelSocket::abort() {
  if (!descriptor_.is_open()) return;
  set(fd(), SOL_SOCKET, SO_LINGER, linger{1, 0});
  close();
}

// --- Figures -----------------------------------------------------------------------------------

Ends KernelSocket::ends() const {
  const auto status = status_of(fd());
  Ends result{std::max<std::uint16_t>(1, status.sstat_outstrms),
              std::max<std::uint16_t>(1, status.sstat_instrms), "unknown", "unknown"};
  boost::asio::ip::tcp::endpoint peer;  // for its address and port only
  auto size = static_cast<socklen_t>(peer.capacity());
  if (::getpeername(fd(), peer.data(), &size) != 0) return result;
  peer.resize(size);
  result.peer_address = address_text(peer.address());
  result.peer_endpoint = endpoint_text(result.peer_address, peer.port());
  return result;
}

TransportStatistics KernelSocket::statistics() const {
  const auto status = status_of(fd());
  sctp_assoc_stats counts{};
  socklen_t size = sizeof counts;
  if (::getsockopt(fd(), IPPROTO_SCTP, SCTP_GET_ASSOC_STATS, &counts, &size) != 0) return {};
  const auto& path = status.sstat_primary;
  const auto number = [](auto value) { return static_cast<double>(value); };
  return {{"rtt_ms", path.spinfo_srtt * tick_ms()},
          {"rto_ms", number(path.spinfo_rto)},
          {"cwnd_octets", number(path.spinfo_cwnd)},
          {"mtu_octets", number(path.spinfo_mtu)},
          {"peer_rwnd_octets", number(status.sstat_rwnd)},
          {"unacked_chunks", number(status.sstat_unackdata)},
          {"pending_chunks", number(status.sstat_penddata)},
          {"sent_data_chunks", number(counts.sas_oodchunks + counts.sas_ouodchunks), true},
          {"retransmitted_chunks", number(counts.sas_rtxchunks), true},
          {"received_duplicate_chunks", number(counts.sas_idupchunks), true}};
}

}  // namespace simco::net::sctp
