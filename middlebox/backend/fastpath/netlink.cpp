#include "middlebox/backend/fastpath/netlink.hpp"

#include <cerrno>
#include <memory>

namespace simco::backend::fastpath {
namespace {

using Reader = std::function<void(const nlmsghdr*)>;
using AttributeReader = std::function<void(const nlattr*)>;

int pass_on(const nlmsghdr* message, void* reader) {
  (*static_cast<const Reader*>(reader))(message);
  return MNL_CB_OK;
}

int pass_attribute(const nlattr* attribute, void* reader) {
  (*static_cast<const AttributeReader*>(reader))(attribute);
  return MNL_CB_OK;
}

/// The end of an answer, of either kind, begins with an error number. libmnl's own function
/// overlooks that of a dump.
int finish(const nlmsghdr* message, void* /*reader*/) {
  const bool has_number = mnl_nlmsg_get_payload_len(message) >= sizeof(int);
  const int error = has_number ? -*static_cast<const int*>(mnl_nlmsg_get_payload(message)) : 0;
  errno = error;
  return error == 0 ? MNL_CB_STOP : MNL_CB_ERROR;
}

}  // namespace

int ask(int bus, nlmsghdr* request, const Reader& read, bool strict) {
  const std::unique_ptr<mnl_socket, decltype(&mnl_socket_close)> socket(
      mnl_socket_open2(bus, SOCK_CLOEXEC), &mnl_socket_close);
  if (!socket || mnl_socket_bind(socket.get(), 0, MNL_SOCKET_AUTOPID) < 0) return errno;
  int yes = 1;
  if (strict && mnl_socket_setsockopt(socket.get(), NETLINK_GET_STRICT_CHK, &yes, sizeof yes) < 0)
    return errno;
  request->nlmsg_seq = 1;
  const auto port = mnl_socket_get_portid(socket.get());
  if (mnl_socket_sendto(socket.get(), request, request->nlmsg_len) < 0) return errno;
  std::array<mnl_cb_t, NLMSG_DONE + 1> ends = {nullptr, nullptr, finish, finish};
  static_assert(NLMSG_ERROR == 2 && NLMSG_DONE == 3);
  NetlinkBuffer answer{};
  Reader reader = read;
  for (;;) {
    const auto size = mnl_socket_recvfrom(socket.get(), answer.data(), answer.size());
    if (size <= 0) return size < 0 ? errno : ENODATA;
    const int state = mnl_cb_run2(answer.data(), static_cast<std::size_t>(size), 1, port, pass_on,
                                  &reader, ends.data(), ends.size());
    if (state < 0) return errno;
    if (state == MNL_CB_STOP) return 0;
  }
}

bool says_absent(int error) {
  return error == EAFNOSUPPORT || error == EPROTONOSUPPORT || error == EOPNOTSUPP ||
         error == ENOENT;
}

void for_each_attribute(const nlmsghdr* message, std::size_t header, AttributeReader read) {
  mnl_attr_parse(message, static_cast<unsigned>(header), pass_attribute, &read);
}

}  // namespace simco::backend::fastpath
