#include "middlebox/backend/nftables/table_lock.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <stdexcept>
#include <system_error>

namespace simco::backend::nftables {

TableLock::~TableLock() {
  if (socket_ >= 0) ::close(socket_);
}

// A name of an abstract socket belongs to a network namespace, like the tables, and to one process.
void TableLock::take(const std::string& table) {
  socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket_ < 0) throw std::system_error(errno, std::generic_category(), "socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  auto name = "simco-middlebox/" + table;
  name.resize(std::min(name.size(), sizeof address.sun_path - 1));
  std::copy(name.begin(), name.end(), address.sun_path + 1);
  const auto size = offsetof(sockaddr_un, sun_path) + 1 + name.size();
  if (::bind(socket_, reinterpret_cast<const sockaddr*>(&address), static_cast<socklen_t>(size)) ==
      0) {
    return;
  }
  if (errno != EADDRINUSE) throw std::system_error(errno, std::generic_category(), "bind");
  throw std::runtime_error("--table: another simco-middlebox has the table inet " + table +
                           " already; name another one");
}

}  // namespace simco::backend::nftables
