// In this order: the start of usrsctp, ports, packets in both directions, and the turns
// in which sockets learn that they are ready.
#include "simco/net/sctp/userland_stack.hpp"

#include <sys/capability.h>
#include <sys/prctl.h>
#include <usrsctp.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>
#include <boost/system/system_error.hpp>
#include <thread>
#include <utility>

#include "simco/library/optional.hpp"
#include "simco/net/error.hpp"
#include "simco/net/sctp/limits.hpp"
#include "simco/net/sctp/packet.hpp"
#include "simco/net/sctp/userland_socket.hpp"
#include "simco/wire/assert.hpp"

namespace simco::net::sctp {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

/// usrsctp exists once per process, and so does the receiver of its packets.
std::atomic<UserlandStack*> g_stack = nullptr;

using Output = int (*)(void*, void*, std::size_t, std::uint8_t, std::uint8_t);

/// usrsctp starts a thread, for work that it never has here. That thread keeps its creator's rights
/// for good: so its creator has none.
void initialise(Output output) {
  usrsctp_tunable_set_sctp_hashtblsize(kUserlandTableSize);
  usrsctp_tunable_set_sctp_pcbtblsize(kUserlandTableSize);
  std::thread([output] {
    const cap_t none = ::cap_init();
    const bool without = none != nullptr && ::cap_set_proc(none) == 0 &&
                         ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
    SIMCO_ASSERT(without);
    ::cap_free(none);
    usrsctp_init_nothreads(0, output, nullptr);
  }).join();
  usrsctp_sysctl_set_sctp_max_chunks_on_queue(kUserlandChunksMax);
  // Extensions that SIMCO does not need are not offered: strangers reach less code.
  usrsctp_sysctl_set_sctp_ecn_enable(0);
  usrsctp_sysctl_set_sctp_asconf_enable(0);
  usrsctp_sysctl_set_sctp_auth_enable(0);
  usrsctp_sysctl_set_sctp_reconfig_enable(0);
  usrsctp_sysctl_set_sctp_nrsack_enable(0);
  usrsctp_sysctl_set_sctp_pktdrop_enable(0);
  usrsctp_sysctl_set_sctp_pr_enable(0);
  register_up_to(0);
}

}  // namespace

asio::execution_context::id UserlandStack::id;

UserlandStack::UserlandStack(asio::execution_context& context)
    : asio::execution_context::service(context) {}

UserlandStack::~UserlandStack() = default;

std::expected<UserlandStack*, error_code> UserlandStack::of(const asio::any_io_executor& executor) {
  if (library::fault_in(simco_load_usrsctp) != nullptr) {
    return std::unexpected(make_error_code(NetError::kUserlandAbsent));
  }
  auto& stack = asio::use_service<UserlandStack>(asio::query(executor, asio::execution::context));
  if (g_stack == nullptr) {
    static const bool initialised = [] {
      initialise(&UserlandStack::output);
      return true;
    }();
    static_cast<void>(initialised);
    g_stack = &stack;
    stack.executor_ = executor;
    stack.ticker_.emplace(executor,
                          [&stack](std::uint32_t elapsed_ms) { return stack.on_tick(elapsed_ms); });
  }
  if (g_stack != &stack || *stack.executor_ != executor) {
    return std::unexpected(make_error_code(NetError::kOtherEventLoop));
  }
  return &stack;
}

void UserlandStack::shutdown() {
  if (g_stack != this) return;
  in_turn_ = false;
  if (ticker_) ticker_->stop();
  for (auto* socket : std::exchange(sockets_, {})) socket->lose_stack();
  for (auto* listener : std::exchange(listeners_, {})) listener->lose_stack();
  flush();
  g_stack = nullptr;
  ready_.clear();
  running_.clear();
  peers_.clear();
  unflushed_.clear();
  ticker_.reset();
}

// --- Ports -------------------------------------------------------------------------------------

std::shared_ptr<DatagramPort> UserlandStack::open_port(const DatagramPort::Options& options) {
  DatagramPort::User& user = *this;
  auto port = std::make_shared<DatagramPort>(*executor_, batch_, options, user);
  port->start();
  return port;
}

std::shared_ptr<DatagramPort> UserlandStack::client_port(const asio::ip::address& remote,
                                                         bool over_ip) {
  auto& known = client_ports_[{remote.is_v6(), over_ip}];
  if (auto port = known.lock()) return port;
  DatagramPort::Options options;
  options.local = remote.is_v6() ? asio::ip::address(asio::ip::address_v6::any())
                                 : asio::ip::address(asio::ip::address_v4::any());
  options.ip_protocol = over_ip ? IPPROTO_SCTP : 0;
  options.ask_for_errors = true;
  auto port = open_port(options);
  known = port;
  return port;
}

void UserlandStack::remove_sctp_port(std::uint16_t port) {
  const auto found = sctp_ports_.find(port);
  if (found != sctp_ports_.end() && --found->second == 0) sctp_ports_.erase(found);
}

// --- Packets -----------------------------------------------------------------------------------

void UserlandStack::on_packet(DatagramPort& port, const Path& path,
                              std::span<const std::byte> packet) {
  if (packet.size() < kCommonHeader) return;
  const auto remote_port = be16(packet);
  const auto local_port = be16(packet.subspan(2));
  if (port.over_ip() && !sctp_ports_.contains(local_port)) return;
  const auto tag = be32(packet.subspan(4));
  const bool has_cookie = CookieGuard::has_cookie(packet);
  in_turn_ = true;
  const auto input = [&](PeerId peer) {
    // A peer that did not receive our INIT ACK at its address cannot open an association there.
    const auto genuine =
        has_cookie ? cookies_.open(path, peer.number, packet) : std::optional(packet);
    if (!genuine) return;
    peers_.note_tag(peer, tag);
    usrsctp_conninput(address_of(peer.number), genuine->data(), genuine->size(), 0);
  };
  if (const auto known = peers_.find(port, path, local_port, remote_port)) return input(*known);
  if (!has_cookie) {
    const auto moved = peers_.find_moved(port, path, local_port, remote_port, tag);
    if (moved) return input(*moved);
  }
  // An unknown peer may get an answer, but only an accepted association makes it known.
  const auto guest = peers_.hold(port.shared_from_this(), path, local_port, remote_port);
  if (!guest) return;
  input(*guest);
  for (auto* listener : listeners_) listener->accept();
  peers_.release(*guest);
}

void UserlandStack::on_unreachable(DatagramPort& port, const Path& path) {
  in_turn_ = true;
  for (auto* socket : sockets_) socket->on_unreachable(port, path);
}

void UserlandStack::on_batch_done() {
  if (!in_turn_) return;
  ticker_->note_traffic();
  end_turn();
}

int UserlandStack::output(void* address, void* packet, std::size_t size, std::uint8_t,
                          std::uint8_t) {
  if (auto* stack = g_stack.load()) {
    stack->send(number_of(address), std::span(static_cast<const std::byte*>(packet), size));
  }
  return 0;
}

void UserlandStack::send(std::uint16_t number, std::span<const std::byte> packet) {
  if (packet.size() < kCommonHeader) return;
  const PeerId peer{number, be16(packet), be16(packet.subspan(2))};
  // An association that we have let go of may still want to say something: too late.
  if (!peers_.knows(peer)) return;
  peers_.note_sent(peer, packet);
  auto& port = peers_.port(peer);
  port.send(peers_.path(peer), cookies_.seal(peers_.path(peer), number, packet));
  const auto is_port = [&port](const auto& other) { return other.get() == &port; };
  if (std::ranges::none_of(unflushed_, is_port)) unflushed_.push_back(port.shared_from_this());
}

void UserlandStack::flush() {
  if (in_turn_ || unflushed_.empty()) return;
  for (const auto& port : unflushed_) port->flush();
  unflushed_.clear();
  ticker_->note_traffic();
}

// --- Turns of the loop -------------------------------------------------------------------------

void UserlandStack::add(UserlandSocket& socket) {
  sockets_.push_back(&socket);
  ticker_->start();
}

void UserlandStack::remove(UserlandSocket& socket) {
  std::erase(sockets_, &socket);
  std::ranges::replace(ready_, &socket, nullptr);
  std::ranges::replace(running_, &socket, nullptr);
}

void UserlandStack::add(UserlandListener& listener) {
  listeners_.push_back(&listener);
  ticker_->start();
}

void UserlandStack::make_ready(UserlandSocket& socket) {
  ready_.push_back(&socket);
  if (!in_turn_) post_turn();
}

void UserlandStack::post_turn() {
  if (std::exchange(turn_posted_, true)) return;
  asio::post(*executor_, [this] {
    turn_posted_ = false;
    if (g_stack != this) return;
    in_turn_ = true;
    end_turn();
  });
}

void UserlandStack::run_ready() {
  for (std::size_t i = 0; i < listeners_.size(); ++i) {
    listeners_[i]->accept();
    listeners_[i]->hand_over();
  }
  // A socket that has more to do gets its next turn after all others.
  running_.swap(ready_);
  for (std::size_t i = 0; i < running_.size(); ++i) {
    if (auto* socket = std::exchange(running_[i], nullptr)) socket->on_ready();
  }
  running_.clear();
}

void UserlandStack::end_turn() {
  run_ready();
  in_turn_ = false;
  flush();
  if (!ready_.empty()) post_turn();
}

bool UserlandStack::on_tick(std::uint32_t elapsed_ms) {
  in_turn_ = true;
  usrsctp_handle_timers(elapsed_ms);
  end_turn();
  return wanted();
}

}  // namespace simco::net::sctp
