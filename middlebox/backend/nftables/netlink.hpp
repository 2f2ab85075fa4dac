// Netlink to the kernel's netfilter: messages in a buffer, commits of nf_tables, dumps.
#pragma once

#include <libmnl/libmnl.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "middlebox/backend/nftables/error_attribution.hpp"

namespace simco::backend::nftables {

/// Netlink messages in sequence.
class MessageBuffer {
 public:
  MessageBuffer();

  void clear();
  /// Begins a message; there is room for kMessageRoom octets in it. `type` with its subsystem.
  nlmsghdr* begin(std::uint16_t type, std::uint16_t flags, std::uint8_t family,
                  std::uint16_t resource = 0);
  /// Attributes that name an object: {{NFTA_SET_TABLE, "simco"}, {NFTA_SET_NAME, "…"}}.
  using Names = std::initializer_list<std::pair<std::uint16_t, std::string>>;
  /// The same for a message of nf_tables (NFT_MSG_…) about something of family inet.
  nlmsghdr* begin_inet(int message, std::uint16_t flags, Names names = {});
  /// The message that was begun is complete. Returns its sequence number.
  std::uint32_t end();

  /// Begins a batch of nf_tables that the kernel refuses if it has another `generation`.
  void begin_batch(std::uint32_t generation);
  void end_batch();

  std::span<const char> octets() const { return {octets_.data(), size_}; }
  std::size_t size() const { return size_; }
  /// Sequence number of the message that asks for an acknowledgement.
  std::uint32_t last() const { return last_; }

 private:
  nlmsghdr* current() { return reinterpret_cast<nlmsghdr*>(octets_.data() + size_); }

  std::vector<char> octets_;
  std::size_t size_ = 0;
  std::size_t last_at_ = 0;  ///< where the last complete message of the batch begins
  std::uint32_t last_ = 0;
  std::uint32_t sequence_ = 1;
};

/// Appends an attribute to `message`, which has the room. As mnl_attr_put(), but inline: every
/// request takes this path several times.
inline void put_attribute(nlmsghdr* message, std::uint16_t type, const void* octets,
                          std::size_t size) {
  char* const at = reinterpret_cast<char*>(message) + message->nlmsg_len;
  const std::size_t length = sizeof(nlattr) + size;
  const std::size_t whole = (length + MNL_ALIGNTO - 1) / MNL_ALIGNTO * MNL_ALIGNTO;
  const nlattr header = {static_cast<std::uint16_t>(length), type};
  // First the zeroes at its end; longer contents overwrite them.
  std::memset(at + whole - MNL_ALIGNTO, 0, MNL_ALIGNTO);
  std::memcpy(at, &header, sizeof header);
  std::memcpy(at + sizeof header, octets, size);
  message->nlmsg_len += static_cast<std::uint32_t>(whole);
}
/// Begins an attribute of attributes. Returns where it is, for end_nest().
inline std::uint32_t begin_nest(nlmsghdr* message, std::uint16_t type) {
  const auto at = message->nlmsg_len;
  put_attribute(message, static_cast<std::uint16_t>(type | NLA_F_NESTED), "", 0);
  return at;
}
/// Ends it.
inline void end_nest(nlmsghdr* message, std::uint32_t at) {
  const auto length = static_cast<std::uint16_t>(message->nlmsg_len - at);
  std::memcpy(reinterpret_cast<char*>(message) + at, &length, sizeof length);
}

/// Calls `act(type, attribute)` for each attribute in `octets`.
template <typename Act>
void for_each_attribute(std::span<const char> octets, Act&& act) {
  const char* end = octets.data() + octets.size();
  const auto* attribute = reinterpret_cast<const nlattr*>(octets.data());
  const auto left = [&] {
    return static_cast<int>(end - reinterpret_cast<const char*>(attribute));
  };
  for (; mnl_attr_ok(attribute, left()); attribute = mnl_attr_next(attribute)) {
    act(mnl_attr_get_type(attribute), attribute);
  }
}
/// The attributes of a message, or those inside an attribute, for the above.
std::span<const char> attributes_of(const nlmsghdr* message);
std::span<const char> attributes_of(const nlattr* attribute);

/// A socket to netfilter, for one thread. Throws std::system_error if the socket itself fails.
class NetlinkSocket {
 public:
  NetlinkSocket();

  int descriptor() const { return mnl_socket_get_fd(socket_.get()); }

  /// Carries out a batch and waits for the kernel's answer. `errors`: of the messages at fault; may
  /// be empty if the kernel does not name the message. `echo` gets its echoes of messages that ask
  /// for them.
  using Reader = std::function<void(const nlmsghdr*)>;
  Outcome commit(const MessageBuffer& batch, std::vector<MessageError>& errors,
                 const Reader& echo = {});
  /// Octets of the kernel's answers that wait to be read, at most.
  std::size_t receive_buffer() const;

  /// An empty buffer for a question, until the next question. To make a buffer takes as long as
  /// several questions.
  MessageBuffer& question();
  /// Sends the requests in `messages`, the last of which must lead to an acknowledgement, an answer
  /// or a dump, and reads all that comes. Returns the first error, or 0.
  int request(const MessageBuffer& messages, const Reader& reader);
  /// Sends the requests and does not wait.
  void send(const MessageBuffer& messages);
  /// Discards the answers received so far.
  void discard();
  /// Reads up to `count` waiting messages, without blocking. False when the answer to the request
  /// that was sent is complete; `error` is then its errno, or 0.
  bool read_some(const Reader& reader, std::size_t count, int& error);
  /// Whether read_some() has received messages that it has not read: the descriptor does not tell.
  bool has_unread() const { return !unread_.empty(); }

  /// Generation of the nf_tables ruleset: incremented by every commit of any program.
  std::uint32_t generation();

 private:
  struct Close {
    void operator()(mnl_socket* socket) const { mnl_socket_close(socket); }
  };
  /// One datagram, or 0 octets if there is none and `wait` is false.
  std::span<const char> receive(bool wait);

  std::unique_ptr<mnl_socket, Close> socket_;
  std::vector<char> received_;
  MessageBuffer question_;
  std::span<const char> unread_;  ///< of received_
};

/// Reads something long from the kernel piece by piece, between other work of the loop.
class Dump {
 public:
  explicit Dump(boost::asio::io_context& io);
  Dump(const Dump&) = delete;
  Dump& operator=(const Dump&) = delete;
  ~Dump();

  bool busy() const { return done_ != nullptr; }
  /// Sends `request`, calls `reader` with each message of the answer, kDumpMessagesPerTurn of them
  /// in a turn of the loop, and then `done` with an errno or 0, from inside this call if the
  /// request cannot be sent. Not while busy().
  void start(const MessageBuffer& request, NetlinkSocket::Reader reader,
             std::function<void(int error)> done);
  /// Reads the rest at once, if busy(). `done` is called before this returns.
  void finish();

 private:
  void wait();
  /// Reads as many messages as a turn of the loop allows. False at the end.
  bool advance();
  void end(int error);

  NetlinkSocket socket_;
  boost::asio::posix::stream_descriptor descriptor_;
  NetlinkSocket::Reader reader_;
  std::function<void(int)> done_;
  bool waiting_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace simco::backend::nftables
