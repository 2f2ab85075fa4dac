#include "tests/bench/bare_nftables.hpp"

#include <netinet/in.h>
// The kernel's headers go after the C library's.
#include <libnftnl/set.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include "tests/bench/session_driver.hpp"

namespace simco::bench {

double seconds_of(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

BareTable::BareTable() {
  if (std::system("nft add table inet bare; nft 'add set inet bare s { type ipv4_addr . ipv4_addr "
                  ". inet_proto . inet_service . inet_service; flags timeout; }'") != 0) {
    die("nft");
  }
}

BareTable::~BareTable() {
  if (std::system("nft delete table inet bare") != 0) die("nft");
}

BareElements::BareElements() : socket_(mnl_socket_open(NETLINK_NETFILTER)), buffer_(4 << 20) {
  if (socket_ == nullptr || mnl_socket_bind(socket_, 0, MNL_SOCKET_AUTOPID) != 0) die("netlink");
  const int room = 16 << 20;
  ::setsockopt(mnl_socket_get_fd(socket_), SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room);
}

BareElements::~BareElements() { mnl_socket_close(socket_); }

/// Writes a commit to buffer_. Returns where it ends.
char* BareElements::write(std::uint32_t count) {
  char* at = buffer_.data();
  const auto advance = [&] { at += MNL_ALIGN(reinterpret_cast<nlmsghdr*>(at)->nlmsg_len); };
  nftnl_batch_begin(at, done_);
  advance();
  for (std::uint32_t i = 0; i < count;) {
    nftnl_set* set = nftnl_set_alloc();
    nftnl_set_set_str(set, NFTNL_SET_TABLE, "bare");
    nftnl_set_set_str(set, NFTNL_SET_NAME, "s");
    for (std::uint32_t k = 0; k < 500 && i < count; ++k, ++i) {
      nftnl_set_elem* element = nftnl_set_elem_alloc();
      const std::array<std::uint32_t, 5> key = {htonl(done_ + i), 0xC0000202U, 17, 0x40, 0x40};
      nftnl_set_elem_set(element, NFTNL_SET_ELEM_KEY, key.data(), sizeof key);
      nftnl_set_elem_set_u64(element, NFTNL_SET_ELEM_TIMEOUT, 120'000);
      // A comment, as "pid 100000".
      constexpr std::array<char, 13> kComment = {0,   11,  'p', 'i', 'd', ' ', '1',
                                                 '0', '0', '0', '0', '0', '\0'};
      nftnl_set_elem_set(element, NFTNL_SET_ELEM_USERDATA, kComment.data(), kComment.size());
      nftnl_set_elem_add(set, element);
    }
    auto* message = nftnl_nlmsg_build_hdr(
        at, NFT_MSG_NEWSETELEM, NFPROTO_INET,
        static_cast<std::uint16_t>(NLM_F_CREATE | (i == count ? NLM_F_ACK : 0)), done_ + i);
    nftnl_set_elems_nlmsg_build_payload(message, set);
    nftnl_set_free(set);
    advance();
  }
  nftnl_batch_end(at, done_);
  advance();
  return at;
}

void BareElements::add(std::uint32_t count) {
  const auto size = static_cast<std::size_t>(write(count) - buffer_.data());
  if (mnl_socket_sendto(socket_, buffer_.data(), size) < 0) die("netlink");
  std::array<char, 8192> answer{};
  const auto got = mnl_socket_recvfrom(socket_, answer.data(), answer.size());
  const auto* error = static_cast<const nlmsgerr*>(
      mnl_nlmsg_get_payload(reinterpret_cast<const nlmsghdr*>(answer.data())));
  if (got < 0 || error->error != 0) die("nf_tables");
  done_ += count;
}

Speed add_bare_elements(std::uint32_t count, std::uint32_t batch) {
  const BareTable table;
  BareElements elements;
  const auto begin = Clock::now();
  const double cpu_before = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  for (std::uint32_t done = 0; done < count; done += batch)
    elements.add(std::min(batch, count - done));
  const std::chrono::duration<double> elapsed = Clock::now() - begin;
  const double cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_before;
  return {count / elapsed.count(), cpu * 1e6 / count};
}

}  // namespace simco::bench
