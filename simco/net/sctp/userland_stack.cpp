// In this order: the start of usrsctp, ports and peers, packets in both directions, and the turns
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
#include <string_view>
#include <thread>
#include <utility>

#include "simco/net/error.hpp"
#include "simco/net/sctp/limits.hpp"
#include "simco/net/sctp/packet.hpp"
#include "simco/net/sctp/userland_socket.hpp"
#include "simco/wire/assert.hpp"

namespace simco::net::sctp {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

/// usrsctp exists once per process, and so does the receiver of its packets.
std::atomic<UserlandStack*> g_stack = nullptr;

/// Numbers that usrsctp knows: they are never unregistered.
std::uint16_t g_registered = 0;

void register_up_to(std::uint16_t number) {
  for (; g_registered <= number; ++g_registered) usrsctp_register_address(address_of(g_registered));
}

/// As std::hash, which Boost before 1.76 does not have for addresses.
std::size_t hash_of(const asio::ip::address& address) {
  const auto hash = [](const auto& octets) {
    return std::hash<std::string_view>{}(
        {reinterpret_cast<const char*>(octets.data()), octets.size()});
  };
  return address.is_v4() ? hash(address.to_v4().to_bytes()) : hash(address.to_v6().to_bytes());
}

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

/// Calls `use(tsn)` for each DATA chunk (RFC 9260 3.3.1).
template <class Use>
void for_each_tsn(std::span<const std::byte> packet, Use use) {
  for_each_chunk(packet, [&](std::span<const std::byte> chunk) {
    if (chunk[0] != std::byte{0} || chunk.size() < kChunkHeader + 4) return;
    use(be32(chunk.subspan(kChunkHeader)));
  });
}

}  // namespace

asio::execution_context::id UserlandStack::id;

void* address_of(std::uint16_t number) {
  return reinterpret_cast<void*>(std::uintptr_t{1} + number);
}

std::uint16_t number_of(const void* address) {
  return static_cast<std::uint16_t>(reinterpret_cast<std::uintptr_t>(address) - 1);
}

UserlandStack::UserlandStack(asio::execution_context& context)
    : asio::execution_context::service(context) {}

UserlandStack::~UserlandStack() = default;

std::expected<UserlandStack*, error_code> UserlandStack::of(const asio::any_io_executor& executor) {
  auto& stack = asio::use_service<UserlandStack>(asio::query(executor, asio::execution::context));
  if (g_stack == nullptr) {
    static const bool initialised = [] {
      initialise(&UserlandStack::output);
      return true;
    }();
    static_cast<void>(initialised);
    g_stack = &stack;
    stack.executor_ = executor;
    stack.timer_.emplace(executor);
    stack.ticked_at_ = Clock::now();
  }
  if (g_stack != &stack || *stack.executor_ != executor) {
    return std::unexpected(make_error_code(NetError::kOtherEventLoop));
  }
  return &stack;
}

void UserlandStack::shutdown() {
  if (g_stack != this) return;
  ticking_ = false;
  in_turn_ = false;
  for (auto* socket : std::exchange(sockets_, {})) socket->lose_stack();
  for (auto* listener : std::exchange(listeners_, {})) listener->lose_stack();
  flush();
  g_stack = nullptr;
  ready_.clear();
  running_.clear();
  ids_.clear();
  for (auto& [name, peer] : peers_) peer.port->stop();
  peers_.clear();
  unflushed_.clear();
  timer_.reset();
}

// --- Ports and peers ---------------------------------------------------------------------------

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

std::size_t UserlandStack::Hash::operator()(const Key& way) const {
  std::size_t hash = hash_of(way.path.remote);
  hash = hash * 31 + hash_of(way.path.local);
  hash = hash * 31 + std::hash<const void*>{}(way.port);
  const std::uint64_t ports = std::uint64_t{way.path.remote_port} << 32 |
                              std::uint64_t{way.local_port} << 16 | way.remote_port;
  return hash * 31 + std::hash<std::uint64_t>{}(ports);
}

std::size_t UserlandStack::Hash::operator()(PeerId peer) const {
  return std::hash<std::uint64_t>{}(std::uint64_t{peer.number} << 32 |
                                    std::uint64_t{peer.local_port} << 16 | peer.remote_port);
}

std::optional<PeerId> UserlandStack::hold(const std::shared_ptr<DatagramPort>& port,
                                          const Path& path, std::uint16_t local_port,
                                          std::uint16_t remote_port) {
  const Key way{port.get(), path, local_port, remote_port};
  auto found = ids_.find(way);
  if (found == ids_.end()) {
    // Not all begin with the first, so that two INITs at once rarely get the same.
    auto number = static_cast<std::uint16_t>(Hash{}(way) % kUserlandNumbersFirst);
    while (peers_.contains({number, local_port, remote_port})) ++number;
    if (number >= kUserlandNumbersMax) return std::nullopt;
    register_up_to(number);
    const PeerId fresh{number, local_port, remote_port};
    found = ids_.emplace(way, fresh).first;
    peers_.emplace(fresh, Peer{port, path});
  }
  hold(found->second);
  return found->second;
}

void UserlandStack::release(PeerId peer) {
  const auto found = peers_.find(peer);
  if (found == peers_.end() || --found->second.holders != 0) return;
  ids_.erase({found->second.port.get(), found->second.path, peer.local_port, peer.remote_port});
  peers_.erase(found);
}

std::uint64_t UserlandStack::retransmissions(PeerId peer) const {
  const auto found = peers_.find(peer);
  return found == peers_.end() ? 0 : found->second.retransmissions;
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
    if (auto& known_tag = peers_.at(peer).tag; known_tag == 0) known_tag = tag;
    usrsctp_conninput(address_of(peer.number), genuine->data(), genuine->size(), 0);
  };
  const auto known = ids_.find({&port, path, local_port, remote_port});
  if (known != ids_.end()) return input(known->second);
  if (!has_cookie) {
    const auto moved = find_moved(port, path, local_port, remote_port, tag);
    if (moved) return input(*moved);
  }
  // An unknown peer may get an answer, but only an accepted association makes it known.
  const auto guest = hold(port.shared_from_this(), path, local_port, remote_port);
  if (!guest) return;
  input(*guest);
  for (auto* listener : listeners_) listener->accept();
  release(*guest);
}

// A NAT on the way may give the peer another UDP port (RFC 6951 5.4).
std::optional<PeerId> UserlandStack::find_moved(DatagramPort& port, const Path& path,
                                                std::uint16_t local_port, std::uint16_t remote_port,
                                                std::uint32_t tag) {
  for (std::uint16_t number = 0; number < g_registered && tag != 0; ++number) {
    const PeerId peer{number, local_port, remote_port};
    const auto found = peers_.find(peer);
    if (found == peers_.end()) continue;
    Path& old = found->second.path;
    const bool same_host = old.remote == path.remote && old.local == path.local;
    if (found->second.port.get() != &port || !same_host || found->second.tag != tag) continue;
    ids_.erase({&port, old, local_port, remote_port});
    old = path;
    ids_.emplace(Key{&port, path, local_port, remote_port}, peer);
    return peer;
  }
  return std::nullopt;
}

void UserlandStack::on_unreachable(DatagramPort& port, const Path& path) {
  in_turn_ = true;
  for (auto* socket : sockets_) socket->on_unreachable(port, path);
}

void UserlandStack::on_batch_done() {
  if (!in_turn_) return;
  note_traffic();
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
  const auto found = peers_.find({number, be16(packet), be16(packet.subspan(2))});
  // An association that we have let go of may still want to say something: too late.
  if (found == peers_.end()) return;
  Peer& peer = found->second;
  for_each_tsn(packet, [&](std::uint32_t tsn) {
    const bool again = peer.has_sent && static_cast<std::int32_t>(tsn - peer.highest_tsn) <= 0;
    if (again) {
      ++peer.retransmissions;
    } else {
      peer.highest_tsn = tsn;
      peer.has_sent = true;
    }
  });
  peer.port->send(peer.path, cookies_.seal(peer.path, number, packet));
  if (std::ranges::find(unflushed_, peer.port) == unflushed_.end()) {
    unflushed_.push_back(peer.port);
  }
}

void UserlandStack::flush() {
  if (in_turn_ || unflushed_.empty()) return;
  for (const auto& port : unflushed_) port->flush();
  unflushed_.clear();
  note_traffic();
}

// --- Turns of the loop -------------------------------------------------------------------------

void UserlandStack::add(UserlandSocket& socket) {
  sockets_.push_back(&socket);
  arm_timer();
}

void UserlandStack::remove(UserlandSocket& socket) {
  std::erase(sockets_, &socket);
  std::ranges::replace(ready_, &socket, nullptr);
  std::ranges::replace(running_, &socket, nullptr);
}

void UserlandStack::add(UserlandListener& listener) {
  listeners_.push_back(&listener);
  arm_timer();
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

// usrsctp cannot tell when it wants to be called next, so it is called often.
void UserlandStack::arm_timer() {
  if (ticking_ || (sockets_.empty() && listeners_.empty())) return;
  ticking_ = true;
  ticked_at_ = Clock::now();
  wait_for_tick();
}

void UserlandStack::wait_for_tick() {
  timer_->expires_after(Clock::now() < busy_until_ ? kUserlandTick : kUserlandIdleTick);
  timer_->async_wait([this](const error_code& error) {
    if (!error && g_stack == this) on_tick();
  });
}

void UserlandStack::on_tick() {
  const auto elapsed =
      std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - ticked_at_);
  ticked_at_ += elapsed;
  in_turn_ = true;
  usrsctp_handle_timers(static_cast<std::uint32_t>(elapsed.count()));
  end_turn();
  ticking_ = !sockets_.empty() || !listeners_.empty();
  if (ticking_) wait_for_tick();
}

void UserlandStack::note_traffic() {
  const auto now = Clock::now();
  const bool was_idle = now >= busy_until_;
  busy_until_ = now + kUserlandIdleAfter;
  if (was_idle && ticking_) wait_for_tick();  // sooner than it was to be
}

}  // namespace simco::net::sctp
