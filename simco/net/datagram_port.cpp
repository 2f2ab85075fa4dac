// Reads with recvmmsg and writes with sendmmsg. Control messages carry the local address of a
// datagram, received or to send; the error queue has the peers that cannot be reached.
#include "simco/net/datagram_port.hpp"

#include <linux/errqueue.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/asio/ip/udp.hpp>
#include <boost/system/system_error.hpp>
#include <cerrno>
#include <cstring>
#include <utility>

#include "simco/net/endpoint.hpp"
#include "simco/net/error.hpp"

namespace simco::net {
namespace {

using boost::asio::ip::address;
using Udp = boost::asio::ip::udp;
using boost::system::error_code;

[[noreturn]] void fail(const error_code& why) { throw boost::system::system_error(why); }

void set(int fd, int level, int name, int value) {
  ::setsockopt(fd, level, name, &value, sizeof value);
}

int open_socket(const DatagramPort::Options& options) {
  const bool v6 = options.local.is_v6();
  const int type =
      (options.ip_protocol != 0 ? SOCK_RAW : SOCK_DGRAM) | SOCK_NONBLOCK | SOCK_CLOEXEC;
  const int fd = ::socket(v6 ? AF_INET6 : AF_INET, type, options.ip_protocol);
  if (fd < 0) fail(last_system_error());
  if (v6) set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
  if (options.track_local) {
    // The answer goes out from the address that was asked.
    set(fd, v6 ? int{IPPROTO_IPV6} : int{IPPROTO_IP}, v6 ? IPV6_RECVPKTINFO : IP_PKTINFO, 1);
  }
  if (options.ask_for_errors) {
    set(fd, v6 ? int{IPPROTO_IPV6} : int{IPPROTO_IP}, v6 ? IPV6_RECVERR : IP_RECVERR, 1);
  }
  for (const auto& [force, plain] :
       {std::pair{SO_RCVBUFFORCE, SO_RCVBUF}, std::pair{SO_SNDBUFFORCE, SO_SNDBUF}}) {
    const int octets = kDatagramSocketBuffer;
    if (::setsockopt(fd, SOL_SOCKET, force, &octets, sizeof octets) != 0) {
      set(fd, SOL_SOCKET, plain, octets);
    }
  }
  const Udp::endpoint endpoint(options.local, options.udp_port);
  if (::bind(fd, endpoint.data(), static_cast<socklen_t>(endpoint.size())) != 0) {
    const auto error = last_system_error();
    ::close(fd);
    fail(error);
  }
  return fd;
}

/// The packet behind its IPv4 header, which raw sockets leave in place (not so with IPv6).
std::span<const std::byte> without_ip_header(std::span<const std::byte> packet, bool v6) {
  if (v6 || packet.empty()) return packet;
  const std::size_t header = 4 * (std::to_integer<std::size_t>(packet[0]) & 0x0F);
  return header > packet.size() ? std::span<const std::byte>() : packet.subspan(header);
}

/// Adds the local address to send from, if known; returns the octets used.
std::size_t write_source(const address& local, std::byte* control) {
  if (local.is_unspecified()) return 0;
  msghdr message{};
  message.msg_control = control;
  message.msg_controllen = CMSG_SPACE(sizeof(in6_pktinfo));
  auto* item = CMSG_FIRSTHDR(&message);
  if (local.is_v4()) {
    in_pktinfo info{};
    info.ipi_spec_dst.s_addr = htonl(local.to_v4().to_uint());
    item->cmsg_level = IPPROTO_IP;
    item->cmsg_type = IP_PKTINFO;
    item->cmsg_len = CMSG_LEN(sizeof info);
    std::memcpy(CMSG_DATA(item), &info, sizeof info);
    return CMSG_SPACE(sizeof info);
  }
  in6_pktinfo info{};
  const auto octets = local.to_v6().to_bytes();
  std::memcpy(&info.ipi6_addr, octets.data(), octets.size());
  item->cmsg_level = IPPROTO_IPV6;
  item->cmsg_type = IPV6_PKTINFO;
  item->cmsg_len = CMSG_LEN(sizeof info);
  std::memcpy(CMSG_DATA(item), &info, sizeof info);
  return CMSG_SPACE(sizeof info);
}

}  // namespace

IpAddress remote_of(const Path& path) {
  const auto text = address_text(path.remote);
  return parse_address(std::string_view(text).substr(0, text.find('%'))).value_or(IpAddress{});
}

DatagramBatch::DatagramBatch()
    : octets_(std::make_unique_for_overwrite<std::byte[]>(kDatagramBatch * kDatagramMax)),
      parts_(kDatagramBatch),
      names_(kDatagramBatch),
      control_(kDatagramBatch * kControlSize),
      messages_(kDatagramBatch) {}

DatagramPort::DatagramPort(const boost::asio::any_io_executor& executor, DatagramBatch& batch,
                           const Options& options, User& user)
    : descriptor_(executor, open_socket(options)), batch_(batch), options_(options), user_(&user) {}

void DatagramPort::stop() {
  user_ = nullptr;
  error_code ignored;
  descriptor_.close(ignored);
}

std::uint16_t DatagramPort::local_port() {
  if (over_ip()) return 0;
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (::getsockname(descriptor_.native_handle(), reinterpret_cast<sockaddr*>(&name), &size) != 0) {
    return options_.udp_port;
  }
  return endpoint_of(&name, size).port();
}

// --- Input -------------------------------------------------------------------------------------

void DatagramPort::wait_readable() {
  descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                         [weak = weak_from_this()](const error_code& error) {
                           const auto self = weak.lock();
                           if (!error && self && self->user_ != nullptr) self->on_readable();
                         });
}

void DatagramPort::on_readable() {
  for (int i = 0; i < kDatagramBatches && user_ != nullptr && read_batch(); ++i) {
  }
  if (user_ == nullptr) return;
  user_->on_batch_done();
  if (user_ != nullptr) wait_readable();
}

bool DatagramPort::read_batch() {
  auto& b = batch_;
  for (std::size_t i = 0; i < kDatagramBatch; ++i) {
    b.parts_[i] = {b.octets_.get() + i * kDatagramMax, kDatagramMax};
    auto& header = b.messages_[i].msg_hdr;
    header = {};
    header.msg_name = &b.names_[i];
    header.msg_namelen = sizeof b.names_[i];
    header.msg_iov = &b.parts_[i];
    header.msg_iovlen = 1;
    header.msg_control = b.control_.data() + i * DatagramBatch::kControlSize;
    header.msg_controllen = DatagramBatch::kControlSize;
  }
  const int got = ::recvmmsg(descriptor_.native_handle(), b.messages_.data(), kDatagramBatch,
                             MSG_DONTWAIT, nullptr);
  if (got < 0) {
    if (errno != EAGAIN && options_.ask_for_errors) read_errors();
    return false;
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(got) && user_ != nullptr; ++i) {
    take(b.messages_[i]);
  }
  return got == static_cast<int>(kDatagramBatch);
}

void DatagramPort::take(const mmsghdr& message) {
  const auto* octets = static_cast<const std::byte*>(message.msg_hdr.msg_iov->iov_base);
  std::span<const std::byte> packet(octets, message.msg_len);
  if (over_ip()) packet = without_ip_header(packet, options_.local.is_v6());
  user_->on_packet(*this, path_of(message.msg_hdr), packet);
}

Path DatagramPort::path_of(const msghdr& message) const {
  const auto endpoint = endpoint_of(message.msg_name, message.msg_namelen);
  Path path{endpoint.address(), over_ip() ? std::uint16_t{0} : endpoint.port(), {}};
  if (!options_.track_local) return path;
  auto* header = const_cast<msghdr*>(&message);
  for (auto* item = CMSG_FIRSTHDR(header); item != nullptr; item = CMSG_NXTHDR(header, item)) {
    if (item->cmsg_level == IPPROTO_IP && item->cmsg_type == IP_PKTINFO) {
      in_pktinfo info{};
      std::memcpy(&info, CMSG_DATA(item), sizeof info);
      path.local = boost::asio::ip::address_v4(ntohl(info.ipi_spec_dst.s_addr));
    }
    if (item->cmsg_level == IPPROTO_IPV6 && item->cmsg_type == IPV6_PKTINFO) {
      in6_pktinfo info{};
      std::memcpy(&info, CMSG_DATA(item), sizeof info);
      boost::asio::ip::address_v6::bytes_type octets;
      std::memcpy(octets.data(), &info.ipi6_addr, octets.size());
      path.local = boost::asio::ip::address_v6(octets);
    }
  }
  return path;
}

void DatagramPort::read_errors() {
  for (;;) {
    sockaddr_storage name{};
    std::array<std::byte, 512> control;
    msghdr message{};
    message.msg_name = &name;
    message.msg_namelen = sizeof name;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    if (::recvmsg(descriptor_.native_handle(), &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return;
    const auto endpoint = endpoint_of(&name, message.msg_namelen);
    const auto port = over_ip() ? std::uint16_t{0} : endpoint.port();
    for (auto* item = CMSG_FIRSTHDR(&message); item != nullptr;
         item = CMSG_NXTHDR(&message, item)) {
      sock_extended_err error{};
      std::memcpy(&error, CMSG_DATA(item), sizeof error);
      const bool told = (item->cmsg_level == IPPROTO_IP && item->cmsg_type == IP_RECVERR) ||
                        (item->cmsg_level == IPPROTO_IPV6 && item->cmsg_type == IPV6_RECVERR);
      if (told && (error.ee_errno == ECONNREFUSED || error.ee_errno == ENOPROTOOPT) &&
          user_ != nullptr) {
        user_->on_unreachable(*this, {endpoint.address(), port, {}});
      }
    }
  }
}

// --- Output ------------------------------------------------------------------------------------

void DatagramPort::send(const Path& path, std::span<const std::byte> packet) {
  if (out_.size() + packet.size() > kDatagramQueueMax) return;  // lost, as networks lose packets
  packets_.push_back({path, 0});  // an empty packet if there is no memory for its octets
  out_.insert(out_.end(), packet.begin(), packet.end());
  packets_.back().size = packet.size();
}

/// Fills the batch from packet number `first`, octet `at`, on; returns how many.
std::size_t DatagramPort::prepare(std::size_t first, std::size_t at) {
  auto& b = batch_;
  const std::size_t count = std::min(kDatagramBatch, packets_.size() - first);
  for (std::size_t i = 0; i < count; ++i) {
    const auto& [path, size] = packets_[first + i];
    const Udp::endpoint to(path.remote, path.remote_port);
    std::memcpy(&b.names_[i], to.data(), to.size());
    b.parts_[i] = {out_.data() + at, size};
    at += size;
    auto* control = b.control_.data() + i * DatagramBatch::kControlSize;
    auto& header = b.messages_[i].msg_hdr;
    header = {};
    header.msg_name = &b.names_[i];
    header.msg_namelen = static_cast<socklen_t>(to.size());
    header.msg_iov = &b.parts_[i];
    header.msg_iovlen = 1;
    header.msg_controllen = write_source(path.local, control);
    header.msg_control = header.msg_controllen == 0 ? nullptr : control;
  }
  return count;
}

void DatagramPort::flush() {
  if (packets_.empty() || waiting_writable_ || !descriptor_.is_open()) return;
  std::size_t done = 0;
  std::size_t octets = 0;
  bool failed = false;  // reported by the next operation, once
  const auto pass = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) octets += packets_[done++].size;
  };
  while (done < packets_.size()) {
    const auto count = prepare(done, octets);
    const int sent = ::sendmmsg(descriptor_.native_handle(), batch_.messages_.data(),
                                static_cast<unsigned>(count), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
      pass(static_cast<std::size_t>(sent));
      failed = false;
      continue;
    }
    if (errno == EAGAIN) {
      waiting_writable_ = true;
      descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_write,
                             [self = shared_from_this()](const error_code& error) {
                               self->waiting_writable_ = false;
                               if (error) return;
                               self->flush();
                               if (self->packets_.empty() && self->user_ != nullptr) {
                                 self->user_->on_drained(*self);
                               }
                             });
      break;
    }
    if (errno == EINTR) continue;
    // The first error may be ICMP's about an earlier packet. The second is about this packet: lost,
    // as in any network.
    if (std::exchange(failed, !failed)) pass(1);
  }
  packets_.erase(packets_.begin(), packets_.begin() + static_cast<std::ptrdiff_t>(done));
  out_.erase(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(octets));
}

}  // namespace simco::net
