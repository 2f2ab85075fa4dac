// The whole middlebox but for its sockets: octets arrive in pieces, times pass, the backend answers
// late or refuses. The first octet of the input chooses the state to start from, then each piece
// has an octet for its kind and length. Nothing may be sent that is not a message, or after the
// end; and when the peer has gone, so must all that was kept for it.
#include <malloc.h>

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "middlebox/core/core.hpp"
#include "simco/net/frame_splitter.hpp"

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using namespace simco;

class LateBackend final : public backend::Backend {
 public:
  std::string_view name() const override { return "late"; }
  Capabilities capabilities() const override {
    Capabilities result;
    result.internal_wildcards = result.external_wildcards = result.port_wildcards = true;
    result.internal_versions = result.external_versions = 3;
    result.lifetime_max_s = 100;
    return result;
  }
  std::vector<rule::ChangeResult> begin(std::span<const rule::RuleChange> rules) override {
    return std::vector(rules.size(), rule::ChangeResult::kDone);
  }
  void apply(std::span<const rule::RuleChange> batch, Client& client) override {
    SIMCO_ASSERT(client_ == nullptr && !batch.empty());
    size_ = batch.size();
    client_ = &client;
  }
  void finish(rule::ChangeResult first) {
    if (client_ == nullptr) return;
    std::vector<rule::ChangeResult> results(size_, rule::ChangeResult::kDone);
    results.front() = first;
    std::exchange(client_, nullptr)->on_applied(results);
  }
  bool busy() const { return client_ != nullptr; }

 private:
  Client* client_ = nullptr;
  std::size_t size_ = 0;
};

/// The middlebox's end of a connection: octets go in, and messages must come out.
class Channel final : public net::MessageChannel {
 public:
  /// Octets that come while the input is paused wait, as in a socket.
  void receive(std::span<const std::byte> octets) {
    backlog_.insert(backlog_.end(), octets.begin(), octets.end());
    if (handler_ == nullptr || paused_ || input_over_) return;
    const auto input = std::exchange(backlog_, {});
    const auto error = splitter_->feed(input, [&](std::span<const std::byte> message) {
      const auto flow = handler_->on_message(message, {});
      paused_ = flow == net::Flow::kPause;
      input_over_ = flow == net::Flow::kStop;
      return flow == net::Flow::kContinue;
    });
    backlog_.assign(input.end() - static_cast<std::ptrdiff_t>(splitter_->unread()), input.end());
    if (error && !input_over_) {
      input_over_ = true;
      handler_->on_malformed(*error);
    }
    using std::chrono::nanoseconds;
    handler_->on_input_done(splitter_->mid_message() ? std::optional(nanoseconds(0))
                                                     : std::nullopt);
  }
  /// Ends the connection if the middlebox has closed it, or `anyway`.
  void end(bool anyway) {
    check_output();
    if (handler_ != nullptr && (closed_ || anyway)) std::exchange(handler_, nullptr)->on_closed({});
  }

  void start(net::ChannelHandler& handler, const net::Framing& framing) override {
    handler_ = &handler;
    splitter_.emplace(framing.framer);
    splitter_->set_hold_limit(framing.hold_limit);
  }
  void detach() override { handler_ = nullptr; }
  std::span<std::byte> allocate(std::size_t size, net::Delivery, std::size_t) override {
    check_output();
    SIMCO_ASSERT(!closed_);
    output_.resize(size);
    return output_;
  }
  void flush() override { check_output(); }
  std::size_t queued() const override { return 0; }
  void pause_input() override { paused_ = true; }
  void resume_input() override { paused_ = false; }
  void set_hold_limit(std::size_t octets) override { splitter_->set_hold_limit(octets); }
  void close() override {
    check_output();
    closed_ = input_over_ = true;
  }
  net::Transport transport() const override { return net::Transport::kTcp; }
  std::uint16_t outbound_streams() const override { return 4; }
  std::uint16_t inbound_streams() const override { return 4; }
  std::string peer_address() const override { return "192.0.2.1"; }
  net::TransportStatistics statistics() const override { return {}; }

 private:
  void check_output() {
    SIMCO_ASSERT(output_.empty() || decode(output_));
    output_.clear();
  }

  net::ChannelHandler* handler_ = nullptr;
  std::optional<net::FrameSplitter> splitter_;
  std::vector<std::byte> backlog_;
  std::vector<std::byte> output_;
  bool paused_ = false;
  bool input_over_ = false;
  bool closed_ = false;
};

class Middlebox final : middlebox::Core::Host, middlebox::Clock {
 public:
  explicit Middlebox(policy::Mode mode)
      : core_(options(mode), *this, backend_, nullptr, nullptr, *this) {
    core_.start();
    core_.accept(channel_, middlebox::Require::kNone);
  }

  void receive(std::span<const std::byte> octets) {
    channel_->receive(octets);
    channel_->end(false);
  }
  void pass(std::chrono::milliseconds time) {
    now_ += time;
    meet_deadlines();
    receive({});
  }
  void finish(rule::ChangeResult first) {
    backend_.finish(first);
    meet_deadlines();
    receive({});
  }
  /// When the peer is gone and the backend has answered, nothing of the connection may be left.
  void finish_all() {
    channel_->end(true);
    while (backend_.busy()) backend_.finish(rule::ChangeResult::kDone);
    meet_deadlines();
    while (backend_.busy()) finish(rule::ChangeResult::kDone);
    SIMCO_ASSERT(core_.connection_count() == 0 && core_.session_count() == 0);
  }

 private:
  /// Pools so small that they run out, and an agent that can authenticate.
  static middlebox::CoreOptions options(policy::Mode mode) {
    middlebox::CoreOptions result;
    result.rules_max = 20;
    result.audit_rate = 0;
    result.secret = "box";
    policy::AgentPolicy agent;
    agent.name = "agent";
    agent.secret = "fuzz";
    result.directory = policy::AgentDirectory::open_to_all();
    result.directory.add(std::move(agent));
    result.nat.mode = mode;
    if (mode == policy::Mode::kFirewall) return result;  // pools take time to make, at each input
    result.nat.first_port = 5000;
    result.nat.last_port = 5009;
    for (const char* address : {"198.51.100.1", "2001:db8::1"}) {
      result.nat.outside.push_back({*parse_address(address), 2});
      result.nat.inside.push_back({*parse_address(address), 2});
    }
    return result;
  }

  void meet_deadlines() {
    while (wake_at_ && *wake_at_ <= now_) {
      wake_at_.reset();
      core_.on_deadline();
    }
  }

  // Core::Host. The challenge is always the same: seeds can answer it.
  void wake_at(Instant at) override { wake_at_ = at; }
  ChallengeOctets make_challenge() override { return {}; }
  void log(middlebox::Core::LogLevel, const std::string&) override {}

  // Clock
  Instant now() const override { return now_; }
  std::int64_t wall_ms() const override { return 0; }

  Instant now_{std::chrono::hours(1)};
  std::optional<Instant> wake_at_;
  LateBackend backend_;
  std::shared_ptr<Channel> channel_ = std::make_shared<Channel>();
  middlebox::Core core_;
};

void open(Middlebox& box, bool with_challenge) {
  std::vector<std::byte> octets(64);
  ByteWriter out(octets);
  const Challenge challenge{OctetsView::of("fuzz")};
  encode({0}, SeRequest{{3, 0}, with_challenge ? std::optional(challenge) : std::nullopt}, out);
  box.receive(std::span(octets).first(out.written()));
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  // Each input makes a middlebox; its memory stays for the next one instead of going to the system
  // and back, which takes a fifth of the time.
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
  mallopt(M_TOP_PAD, 16 << 20);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto octets = std::as_bytes(std::span(data, size));
  if (octets.empty()) return 0;
  const auto first = std::to_integer<unsigned>(octets[0]);
  Middlebox box(static_cast<policy::Mode>(first / 3 % 3));
  const auto start = first % 3;
  if (start != 0) open(box, start == 2);
  octets = octets.subspan(1);
  while (!octets.empty()) {
    const auto what = std::to_integer<unsigned>(octets[0]);
    octets = octets.subspan(1);
    switch (what >> 6) {
      case 0: box.pass(std::chrono::milliseconds((what & 63) * 250)); break;
      case 1: box.finish(static_cast<rule::ChangeResult>((what & 63) % 3)); break;
      default: {
        const auto piece = octets.first(std::min<std::size_t>(what & 127, octets.size()));
        octets = octets.subspan(piece.size());
        box.receive(piece);
      }
    }
  }
  box.finish_all();
  return 0;
}
