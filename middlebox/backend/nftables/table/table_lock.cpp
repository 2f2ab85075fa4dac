// The lock is an abstract Unix socket whose name is made from the table's: the kernel releases it
// with the process, however that ends. Connecting to it tells the holder.
#include "middlebox/backend/nftables/table/table.hpp"

#include <fmt/format.h>
#include <linux/capability.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "middlebox/backend/nftables/limits.hpp"
#include "simco/log/log.hpp"

namespace simco::backend::nftables {
namespace {

/// FNV-1a, 64 bits: the same in every build, since middleboxes of different versions have to agree.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xCBF2'9CE4'8422'2325;
  for (const char octet : text) {
    hash ^= static_cast<unsigned char>(octet);
    hash *= 0x0000'0100'0000'01B3;
  }
  return hash;
}

}  // namespace

std::string lock_name(const std::string& table) {
  auto name = "simco-middlebox/" + table;
  if (name.size() <= kLockNameOctets) return name;
  // Two long names may have the same beginning.
  const auto hash = fmt::format("~{:016x}", hash_of(table));
  name.resize(kLockNameOctets - hash.size());
  return name + hash;
}

namespace {

// A name of an abstract socket belongs to a network namespace, like the tables, and to a single
// process.
struct Name {
  explicit Name(const std::string& table) {
    address.sun_family = AF_UNIX;
    const auto name = lock_name(table);
    std::copy(name.begin(), name.end(), address.sun_path + 1);
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }

  sockaddr_un address{};
  socklen_t size;
};
static_assert(kLockNameOctets == sizeof(sockaddr_un::sun_path) - 1);

int open_socket(int flags = 0) {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
  if (socket < 0) throw std::system_error(errno, std::generic_category(), "socket");
  return socket;
}

/// Returns the process that listens there, if known.
std::optional<ucred> listener_of(const Name& name) {
  const int socket = open_socket();
  ucred holder{};
  socklen_t size = sizeof holder;
  // Its queue may be full until the next drain().
  const timeval patience{kLockPatience.count(), 0};
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  const bool told = ::connect(socket, name.get(), name.size) == 0 &&
                    ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &holder, &size) == 0;
  ::close(socket);
  return told ? std::optional(holder) : std::nullopt;
}

/// Returns how the process's user namespace maps users: the only description of it that others may
/// read. Without rights, a user can create no namespace with a map like ours.
std::string user_map_of(const std::string& process) {
  std::ifstream map("/proc/" + process + "/uid_map");
  return {std::istreambuf_iterator<char>(map), {}};
}

/// Returns whether the process could have a middlebox's table. Its rights count in our own user
/// namespace only: any user has all rights in a namespace of his own. And they must be its user's,
/// not those of a set-user-ID program that the user has started.
bool may_be_middlebox(const ucred& holder) {
  if (holder.uid == 0 || holder.uid == ::geteuid()) return true;
  const auto process = std::to_string(holder.pid);
  if (user_map_of(process) != user_map_of("self")) return false;
  std::ifstream status("/proc/" + process + "/status");
  bool same_user = false;
  bool net_admin = false;
  std::string field;
  while (status >> field) {
    if (field == "Uid:") {
      std::array<uid_t, 4> uids{};  // real, effective, saved, of the file system
      for (auto& uid : uids) status >> uid;
      same_user = status && std::ranges::count(uids, holder.uid) == 4;
    }
    if (field == "CapEff:") {
      std::uint64_t set = 0;
      net_admin = (status >> std::hex >> set) && (set >> CAP_NET_ADMIN & 1) != 0;
    }
  }
  return same_user && net_admin;
}

}  // namespace

TableLock::~TableLock() {
  if (socket_ >= 0) ::close(socket_);
}

void TableLock::drain() {
  for (int i = 0; i < kLockCallersPerLook && socket_ >= 0; ++i) {
    const int caller = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    if (caller < 0) return;
    ::close(caller);
  }
}

void TableLock::take(const std::string& table) {
  const Name name(table);
  socket_ = open_socket(SOCK_NONBLOCK);
  if (::bind(socket_, name.get(), name.size) == 0) {
    if (::listen(socket_, SOMAXCONN) == 0) return;
    throw std::system_error(errno, std::generic_category(), "listen");
  }
  if (errno != EADDRINUSE) throw std::system_error(errno, std::generic_category(), "bind");
  const auto holder = listener_of(name);
  if (holder && may_be_middlebox(*holder)) {
    throw std::runtime_error("--table: another simco-middlebox uses table inet " + table +
                             "; choose another name");
  }
  log::warn(
      "--table: process {} of user {}, which cannot be a middlebox, holds the lock name of table "
      "inet {}; it is ignored, but a second middlebox for this table would go unnoticed",
      holder ? holder->pid : 0, holder ? std::to_string(holder->uid) : "(unknown)", table);
}

}  // namespace simco::backend::nftables
