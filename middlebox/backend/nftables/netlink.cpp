// Messages are appended to a buffer and sent together; the kernel's answers are read until the
// last message of the request is acknowledged.
#include "middlebox/backend/nftables/netlink.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
// The kernel's headers go after the C library's.
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include <boost/asio/post.hpp>
#include <cerrno>
#include <system_error>
#include <utility>

#include "middlebox/backend/nftables/limits.hpp"
#include "simco/wire/assert.hpp"

namespace simco::backend::nftables {
namespace {

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

void set_option(int descriptor, int level, int option, int value) {
  // Without the wish granted there is less room, or less said in errors; it works all the same.
  static_cast<void>(::setsockopt(descriptor, level, option, &value, sizeof value));
}

/// The errno in an NLMSG_ERROR or NLMSG_DONE message, 0 for an acknowledgement.
int error_in(const nlmsghdr* message) {
  std::int32_t error = 0;
  if (mnl_nlmsg_get_payload_len(message) >= sizeof error) {
    std::memcpy(&error, mnl_nlmsg_get_payload(message), sizeof error);
  }
  return -error;
}

/// Calls `act` with every message in `datagram`.
template <typename Act>
void for_each_message(std::span<const char> datagram, Act&& act) {
  auto left = static_cast<int>(datagram.size());
  const auto* message = reinterpret_cast<const nlmsghdr*>(datagram.data());
  for (; mnl_nlmsg_ok(message, left); message = mnl_nlmsg_next(message, &left)) act(message);
}

}  // namespace

// --- MessageBuffer -------------------------------------------------------------------------------

MessageBuffer::MessageBuffer() : octets_(2 * kMessageRoom) {}

void MessageBuffer::clear() {
  // A whole table takes far more than later changes.
  if (octets_.size() > kKeepOctets) octets_ = std::vector<char>(2 * kMessageRoom);
  size_ = 0;
  last_at_ = 0;
  last_ = 0;
}

nlmsghdr* MessageBuffer::begin(std::uint16_t type, std::uint16_t flags, std::uint8_t family,
                               std::uint16_t resource) {
  if (octets_.size() < size_ + kMessageRoom) octets_.resize(2 * octets_.size());
  auto* header = mnl_nlmsg_put_header(current());
  header->nlmsg_type = type;
  header->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
  header->nlmsg_seq = sequence_++;
  auto* netfilter = static_cast<nfgenmsg*>(mnl_nlmsg_put_extra_header(header, sizeof(nfgenmsg)));
  netfilter->nfgen_family = family;
  netfilter->version = NFNETLINK_V0;
  netfilter->res_id = htons(resource);
  return header;
}

nlmsghdr* MessageBuffer::begin_inet(int message, std::uint16_t flags, Names names) {
  auto* result =
      begin(static_cast<std::uint16_t>((NFNL_SUBSYS_NFTABLES << 8) | message), flags, NFPROTO_INET);
  for (const auto& [attribute, name] : names) mnl_attr_put_strz(result, attribute, name.c_str());
  return result;
}

std::uint32_t MessageBuffer::end() {
  const auto* header = current();
  SIMCO_ASSERT(header->nlmsg_len <= kMessageRoom);
  last_at_ = size_;
  last_ = header->nlmsg_seq;
  size_ += MNL_ALIGN(header->nlmsg_len);
  return last_;
}

void MessageBuffer::begin_batch(std::uint32_t generation) {
  clear();
  auto* header = begin(NFNL_MSG_BATCH_BEGIN, 0, AF_UNSPEC, NFNL_SUBSYS_NFTABLES);
  mnl_attr_put_u32(header, NFNL_BATCH_GENID, htonl(generation));
  end();
}

void MessageBuffer::end_batch() {
  // A single acknowledgement for all: each takes room in the receive buffer.
  reinterpret_cast<nlmsghdr*>(octets_.data() + last_at_)->nlmsg_flags |= NLM_F_ACK;
  const auto acknowledged = last_;
  begin(NFNL_MSG_BATCH_END, 0, AF_UNSPEC, NFNL_SUBSYS_NFTABLES);
  end();
  last_ = acknowledged;
}

std::span<const char> attributes_of(const nlmsghdr* message) {
  const auto* begin =
      static_cast<const char*>(mnl_nlmsg_get_payload_offset(message, sizeof(nfgenmsg)));
  const auto* end = static_cast<const char*>(mnl_nlmsg_get_payload_tail(message));
  return {begin, begin < end ? static_cast<std::size_t>(end - begin) : 0};
}

std::span<const char> attributes_of(const nlattr* attribute) {
  return {static_cast<const char*>(mnl_attr_get_payload(attribute)),
          mnl_attr_get_payload_len(attribute)};
}

// --- NetlinkSocket -------------------------------------------------------------------------------

NetlinkSocket::NetlinkSocket() : received_(kDatagramOctets) {
  socket_.reset(mnl_socket_open2(NETLINK_NETFILTER, SOCK_CLOEXEC));
  if (!socket_) fail("netfilter netlink socket");
  if (mnl_socket_bind(socket_.get(), 0, MNL_SOCKET_AUTOPID) != 0) fail("netfilter netlink socket");
  set_option(descriptor(), SOL_SOCKET, SO_SNDBUFFORCE, kSendBuffer);
  set_option(descriptor(), SOL_SOCKET, SO_RCVBUFFORCE, kReceiveBuffer);
  set_option(descriptor(), SOL_NETLINK, NETLINK_CAP_ACK, 1);
}

void NetlinkSocket::send(const MessageBuffer& messages) {
  const auto octets = messages.octets();
  if (mnl_socket_sendto(socket_.get(), octets.data(), octets.size()) < 0) fail("netlink send");
}

std::span<const char> NetlinkSocket::receive(bool wait) {
  for (;;) {
    const auto count =
        ::recv(descriptor(), received_.data(), received_.size(), wait ? 0 : MSG_DONTWAIT);
    if (count >= 0) return {received_.data(), static_cast<std::size_t>(count)};
    if (errno == EAGAIN) return {};
    // ENOBUFS: the kernel had more to say than there was room for. A missing acknowledgement is
    // taken for a failure.
    if (errno != EINTR && errno != ENOBUFS) fail("netlink receive");
  }
}

std::size_t NetlinkSocket::receive_buffer() const {
  int size = 0;
  socklen_t length = sizeof size;
  const bool known = ::getsockopt(descriptor(), SOL_SOCKET, SO_RCVBUF, &size, &length) == 0;
  return known ? static_cast<std::size_t>(size) : 0;
}

Outcome NetlinkSocket::commit(const MessageBuffer& batch, std::vector<MessageError>& errors,
                              const Reader& echo) {
  errors.clear();
  const auto octets = batch.octets();
  if (mnl_socket_sendto(socket_.get(), octets.data(), octets.size()) < 0) {
    errors.push_back({0, errno});
    return Outcome::kFailed;
  }
  bool acknowledged = false;
  bool stale = false;
  // The kernel works on a batch inside send(): its answers are complete now. They come in the order
  // of the messages, errors of the whole batch first: so nothing follows the acknowledgement of the
  // last message.
  while (!acknowledged) {
    const auto datagram = receive(false);
    if (datagram.empty()) break;
    for_each_message(datagram, [&](const nlmsghdr* message) {
      if (echo && message->nlmsg_type >= NLMSG_MIN_TYPE) echo(message);
      if (message->nlmsg_type != NLMSG_ERROR) return;
      const int error = error_in(message);
      if (error == 0) acknowledged |= message->nlmsg_seq == batch.last();
      if (error == ERESTART) stale = true;
      if (error != 0 && error != ERESTART) errors.push_back({message->nlmsg_seq, error});
    });
  }
  if (stale) return Outcome::kStale;
  return acknowledged && errors.empty() ? Outcome::kDone : Outcome::kFailed;
}

void NetlinkSocket::discard() {
  while (!receive(false).empty()) {
  }
}

bool NetlinkSocket::read_some(const Reader& reader, std::size_t count, int& error) {
  if (unread_.empty()) unread_ = receive(false);
  auto left = static_cast<int>(unread_.size());
  const auto* message = reinterpret_cast<const nlmsghdr*>(unread_.data());
  for (; count > 0 && mnl_nlmsg_ok(message, left); --count) {
    if (message->nlmsg_type == NLMSG_ERROR || message->nlmsg_type == NLMSG_DONE) {
      unread_ = {};
      error = error_in(message);
      return false;
    }
    if (message->nlmsg_type >= NLMSG_MIN_TYPE) reader(message);
    message = mnl_nlmsg_next(message, &left);
  }
  // Octets at the end that are not a message are skipped.
  unread_ = mnl_nlmsg_ok(message, left) ? unread_.last(static_cast<std::size_t>(left))
                                        : std::span<const char>{};
  return true;
}

int NetlinkSocket::request(const MessageBuffer& messages, const Reader& reader) {
  send(messages);
  int first = 0;
  for (bool more = true; more;) {
    const auto datagram = receive(true);
    for_each_message(datagram, [&](const nlmsghdr* message) {
      const bool last = message->nlmsg_seq == messages.last();
      if (message->nlmsg_type == NLMSG_ERROR || message->nlmsg_type == NLMSG_DONE) {
        const int error = error_in(message);
        if (error != 0 && first == 0) first = error;
        if (last) more = false;
      } else if (message->nlmsg_type >= NLMSG_MIN_TYPE) {
        reader(message);
        if (last && (message->nlmsg_flags & NLM_F_MULTI) == 0) more = false;
      }
    });
  }
  return first;
}

MessageBuffer& NetlinkSocket::question() {
  question_.clear();
  return question_;
}

std::uint32_t NetlinkSocket::generation() {
  MessageBuffer& ask = question();
  ask.begin((NFNL_SUBSYS_NFTABLES << 8) | NFT_MSG_GETGEN, 0, AF_UNSPEC);
  ask.end();
  std::uint32_t result = 0;
  const int error = request(ask, [&](const nlmsghdr* message) {
    for_each_attribute(attributes_of(message), [&](std::uint16_t type, const nlattr* attribute) {
      if (type == NFTA_GEN_ID) result = ntohl(mnl_attr_get_u32(attribute));
    });
  });
  if (error != 0) {
    errno = error;
    fail("this kernel has no nf_tables");
  }
  return result;
}

Dump::Dump(boost::asio::io_context& io) : descriptor_(io, socket_.descriptor()) {}

Dump::~Dump() {
  *alive_ = false;
  descriptor_.release();  // the socket closes it
}

void Dump::start(const MessageBuffer& request, NetlinkSocket::Reader reader,
                 std::function<void(int)> done) {
  SIMCO_ASSERT(!busy());
  reader_ = std::move(reader);
  done_ = std::move(done);
  try {
    socket_.send(request);
  } catch (const std::system_error& failure) {
    return end(failure.code().value());
  }
  wait();
}

void Dump::wait() {
  if (waiting_) return;
  waiting_ = true;
  const auto go_on = [this, alive = alive_](const boost::system::error_code& error) {
    if (error || !*alive) return;
    waiting_ = false;
    if (busy() && advance()) wait();
  };
  if (socket_.has_unread()) {
    boost::asio::post(descriptor_.get_executor(), [go_on] { go_on({}); });
  } else {
    descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read, go_on);
  }
}

bool Dump::advance() {
  int error = 0;
  try {
    if (socket_.read_some(reader_, kDumpMessagesPerTurn, error)) return true;
  } catch (const std::system_error& failure) {
    error = failure.code().value();
  }
  end(error);
  return false;
}

// The callback may start the next dump.
void Dump::end(int error) {
  reader_ = nullptr;
  std::exchange(done_, nullptr)(error);
}

void Dump::finish() {
  while (busy()) {
    pollfd ready{socket_.descriptor(), POLLIN, 0};
    if (!socket_.has_unread()) ::poll(&ready, 1, -1);
    if (!advance()) return;
  }
}

}  // namespace simco::backend::nftables
