// The whole middlebox but for its sockets: octets arrive in pieces, times pass, the backend answers
// late or refuses. The first octet of the input chooses the state to start from, then each piece
// has an octet that says what happens and how long it is. Every request must get exactly one reply,
// unless the session has ended, and nothing may be sent after the end.
#include <malloc.h>

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "middlebox/commit/pipeline.hpp"
#include "middlebox/policy/engine.hpp"
#include "simco/binding/framer.hpp"
#include "simco/net/frame_splitter.hpp"
#include "simco/session/middlebox_session.hpp"

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

class Middlebox final : MiddleboxSession::Host,
                        middlebox::Requester,
                        middlebox::CommitPipeline::Observer {
 public:
  explicit Middlebox(policy::Mode mode)
      : engine_({backend_.capabilities(), policy::PolicyEngine::all_protocols(), nat_options(mode),
                 20}) {
    engine_.apply(directory_);
    splitter_.set_hold_limit(kSessionControlSizeMax);
  }

  /// What comes behind a proof that is held back waits, as it does in a channel.
  void receive(std::span<const std::byte> octets) {
    backlog_.insert(backlog_.end(), octets.begin(), octets.end());
    if (session_.holding()) return;
    const auto input = std::exchange(backlog_, {});
    const auto error = splitter_.feed(input, [&](std::span<const std::byte> message) {
      session_.on_message(message);
      return !session_.leaving() && !session_.holding();
    });
    backlog_.assign(input.end() - static_cast<std::ptrdiff_t>(splitter_.unread()), input.end());
    if (error) session_.on_malformed();
    session_.on_octets(splitter_.mid_message(), now_);
    advance();
  }
  void pass(std::chrono::milliseconds time) {
    now_ += time;
    if (session_.deadline() && *session_.deadline() <= now_) session_.on_deadline(now_);
    if (!session_.leaving()) receive({});
    reap();
  }
  void finish(rule::ChangeResult first) {
    backend_.finish(first);
    reap();
  }
  void finish_all() {
    while (backend_.busy()) finish(rule::ChangeResult::kDone);
    SIMCO_ASSERT(session_.in_flight() == 0 && pipeline_.idle());
  }

 private:
  /// Pools so small that they run out.
  static policy::NatTable::Options nat_options(policy::Mode mode) {
    policy::NatTable::Options nat;
    nat.mode = mode;
    if (mode == policy::Mode::kFirewall) return nat;  // pools take time to make, at each input
    nat.first_port = 5000;
    nat.last_port = 5009;
    for (const char* address : {"198.51.100.1", "2001:db8::1"}) {
      nat.outside.push_back({*parse_address(address), 2});
      nat.inside.push_back({*parse_address(address), 2});
    }
    return nat;
  }

  void advance() {
    while (pipeline_.advance(now_)) {
    }
  }
  /// As the core does at the end of each turn and when a lifetime is over.
  void reap() {
    advance();
    while (engine_.next_expiry() && *engine_.next_expiry() <= now_ && !backend_.busy()) {
      pipeline_.expire(now_);
      advance();
    }
  }

  void send(TransactionId tid, const Body& body) override {
    SIMCO_ASSERT(!closed_);
    std::vector<std::byte> octets(encoded_size(body));
    ByteWriter out(octets);
    SIMCO_ASSERT(encode(tid, body, out));
    SIMCO_ASSERT(decode(octets));
  }
  void execute(TransactionId tid, const Body& request) override {
    pipeline_.submit(*this, tid, request, now_);
  }
  bool has_room() override { return true; }
  // The challenge is always the same: seeds can answer it.
  MiddleboxSession::Admission admit(bool challenged) override { return {{}, challenged}; }
  ChallengeOctets make_challenge() override { return {}; }
  std::vector<std::byte> answer_challenge(std::span<const std::byte> challenge) override {
    return make_middlebox_token("box", challenge);
  }
  MiddleboxSession::AuthResult verify(const std::optional<ChallengeOctets>& challenge,
                                      const std::optional<Token>& token) override {
    using Kind = MiddleboxSession::AuthResult::Kind;
    if (!token || !challenge) return {};
    if (!std::exchange(waited_, true)) return {Kind::kLater, {}, now_ + std::chrono::seconds(1)};
    if (check_agent_token(token->octets, "fuzz", *challenge)) return {};
    return {Kind::kRefused, NegativeReplyCode::kAuthenticationFailed,
            now_ + std::chrono::seconds(1)};
  }
  Capabilities opened() override {
    SIMCO_ASSERT(!agent_);
    agent_ = engine_.acquire("anonymous@192.0.2.1");
    splitter_.set_hold_limit(kMessageSizeMax);
    return engine_.capabilities(*agent_);
  }
  void close() override {
    SIMCO_ASSERT(!closed_);
    closed_ = true;
  }
  policy::AgentId agent() const override { return *agent_; }
  std::string_view agent_name() const override { return engine_.name(*agent_); }
  std::string_view peer() const override { return "192.0.2.1"; }
  std::uint32_t lifetime_max_s() const override { return 3600; }
  void reply(TransactionId tid, const Body& body) override { session_.reply(tid, body); }
  void notify(const policy::RuleEvent& event) override {
    session_.notify(event.pid, event.lifetime, event.creating_tid);
  }
  void on_rule_event(const policy::RuleEvent& event, const middlebox::Requester* cause) override {
    if (cause != this) notify(event);
  }
  void on_expiry_failed(PolicyRuleId) override {}
  void on_stage_done() override {}

  Instant now_{std::chrono::hours(1)};
  LateBackend backend_;
  policy::AgentDirectory directory_ = policy::AgentDirectory::open_to_all();
  policy::PolicyEngine engine_;
  middlebox::CommitPipeline pipeline_{engine_, nullptr, backend_, *this};
  net::FrameSplitter splitter_{kMessageFramer};
  std::vector<std::byte> backlog_;
  MiddleboxSession session_{{std::chrono::seconds(60), 4}, *this, now_};
  std::optional<policy::AgentId> agent_;
  bool waited_ = false;
  bool closed_ = false;
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
