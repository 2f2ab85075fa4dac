#include "tests/simulator/simulation.hpp"

#include <algorithm>
#include <utility>

#include "simco/wire/codec.hpp"
#include "tests/simulator/client.hpp"
#include "tests/simulator/life.hpp"
#include "tests/simulator/requests.hpp"

namespace simco::simulator {

using namespace std::chrono_literals;

namespace {

constexpr auto kBusyTime = 60s;  ///< agents are active for that long
constexpr auto kCalmTime = 10s;  ///< longer than any delay, retry and resend
constexpr std::uint32_t kInFlightMax = 40;

bool grants(const Body& reply) {
  return std::holds_alternative<PerReply>(reply) || std::holds_alternative<PrrReply>(reply) ||
         std::holds_alternative<PdrReply>(reply) || std::holds_alternative<PlcReply>(reply) ||
         std::holds_alternative<PrdReply>(reply);
}

std::string in_seconds(Instant time) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch());
  const auto text = std::to_string(ms.count());
  return text.substr(0, text.size() - 3) + "." + text.substr(text.size() - 3) + " s: ";
}

test::Mode mode_of(std::uint32_t seed) {
  constexpr test::Mode kModes[] = {test::Mode::kFirewall, test::Mode::kTraditionalNat,
                                   test::Mode::kTwiceNat};
  return kModes[seed % 3];
}

}  // namespace

Simulation::Simulation(std::uint32_t seed, std::function<void(const std::string&)> trace)
    : random_(seed),
      trace_(std::move(trace)),
      mode_(mode_of(seed)),
      has_standby_(seed / 3 % 4 != 0 && seed % 7 < 3),
      model_(mode_),
      generator_(random_.engine, model_),
      backends_{SimBackend(time_, random_, seed % 5 == 0),
                SimBackend(time_, random_, seed % 5 == 1)},
      store_(seed / 3 % 4 == 0 ? std::optional<SimStore>()
                               : std::optional<SimStore>(std::in_place, time_, random_)),
      judge_(model_, time_, wall_, store_ ? &*store_ : nullptr,
             [this](const std::string& what) { this->trace(what); }) {
  const char* names[] = {"a", "a", "b", "boss", "viewer", "a", "b", "boss"};
  const auto count = 3 + random_.below(6);
  for (std::uint32_t i = 0; i < count; ++i) {
    clients_.push_back(std::make_unique<Client>(names[i], false));
  }
}

Simulation::~Simulation() = default;

void Simulation::trace(const std::string& what) const {
  if (trace_) trace_(in_seconds(time_.now()) + what);
}

Tally Simulation::run() {
  try {
    start();
    for (std::size_t i = 0; i < clients_.size(); ++i) schedule(i);
    schedule_end();
    schedule_reload();
    schedule_clock_step();
    run_until(time_.now() + kBusyTime);
    settle();
    stop();
  } catch (const Fault& fault) {
    throw Fault(in_seconds(time_.now()) + fault.what());
  }
  tally_.replies = judge_.replies().replies;
  tally_.grants = judge_.replies().grants;
  tally_.overtaken = judge_.replies().overtaken;
  tally_.events = judge_.events();
  return tally_;
}

void Simulation::run_until(Instant end) {
  while (time_.now() < end && time_.step()) judge();
}

void Simulation::judge() {
  judge_predecessor();
  const auto for_closed = [&](auto tell) {
    for (const auto& client : clients_) {
      if (client->session > last_session_of_predecessor_ && client->middlebox_is_done()) {
        tell(client->session);
      }
    }
  };
  for_closed([&](auto session) { judge_.closed(session); });
  judge_.judge(record_);
  for_closed([&](auto session) { judge_.session_over(session); });
}

// --- The middlebox -------------------------------------------------------------------------------

middlebox::CoreOptions Simulation::options() const {
  middlebox::CoreOptions options;
  options.rules_max = test::Model::kRulesMax;
  options.nat = test::Model::nat_options(mode_);
  options.directory = test::Model::directory(unknown_);
  options.secret = test::Model::kMiddleboxSecret;
  options.audit_rate = 0;
  return options;
}

void Simulation::start() {
  begin(std::make_unique<Life>(options(), time_, wall_, random_, backends_[box_],
                               store_ ? &*store_ : nullptr),
        false);
}

void Simulation::begin(std::unique_ptr<Life> life, bool stood_by) {
  life_ = std::move(life);
  judge_.started(backends_[box_], stood_by);
  trace("the middlebox starts with " + std::to_string(model_.rules.size()) + " rules");
  auditor_ = std::make_unique<Client>("boss", true);
  connect(*auditor_, {}, {});
  if (has_standby_) time_.after(random_.up_to_ms(8000), [this] { stand_by(); });
}

void Simulation::stand_by() {
  if (standby_ || predecessor_ || !life_) return;
  trace("the other box stands by");
  auto& backend = backends_[1 - box_];
  backend.heal();
  standby_ = std::make_unique<Life>(options(), time_, wall_, random_, backend, &*store_, true);
}

bool Simulation::promote() {
  if (!standby_) return false;
  ++tally_.promotions;
  box_ = 1 - box_;
  standby_->take_over([this] {
    if (!calm_) backends_[box_].heal(false);
    begin(std::move(standby_), true);
    schedule_end();
  });
  return true;
}

void Simulation::crash() {
  trace("the middlebox crashes");
  ++tally_.crashes;
  backends_[box_].crash();
  life_.reset();
  record_.clear();
  for (const auto& client : clients_) client->drop();
  auditor_.reset();
  judge_.gone();
  if (promote()) return;
  time_.after(random_.up_to_ms(5000), [this] {
    start();
    schedule_end();
  });
}

void Simulation::take_over() {
  trace("another middlebox takes over");
  ++tally_.takeovers;
  predecessor_ = std::move(life_);
  last_session_of_predecessor_ = sessions_;
  last_tid_of_predecessor_ = tids_;
  auditor_.reset();
  // Some agents do not notice either, and go on asking the box that they know.
  for (const auto& client : clients_) {
    if (random_.one_in(2)) client->drop();
  }
  judge_.gone();
  time_.after(random_.up_to_ms(5000), [this] { end_predecessor(); });
  if (promote()) return;
  box_ = 1 - box_;
  start();
  schedule_end();
}

void Simulation::end_predecessor() {
  if (!predecessor_) return;
  trace("the box that was taken over ends");
  for (const auto& client : clients_) {
    if (client->session <= last_session_of_predecessor_) client->drop();
  }
  backends_[1 - box_].crash();
  predecessor_.reset();
}

void Simulation::judge_predecessor() {
  std::erase_if(record_, [this](const Sent& sent) {
    if (sent.session > last_session_of_predecessor_) return false;
    const auto message = decode(sent.octets);
    demand(message.has_value(), "it has sent what is not a message");
    const bool late = message->tid.value > last_tid_of_predecessor_ && grants(message->body);
    demand(!late, "a box whose rules another one has grants " + text(message->body));
    return true;
  });
}

void Simulation::schedule_end() {
  if (random_.one_in(3)) return;
  time_.after(1s + random_.up_to_ms(60'000), [this] {
    if (calm_ || !life_) return;
    if (store_ && !predecessor_ && random_.one_in(2)) return take_over();
    crash();
  });
}

void Simulation::schedule_reload() {
  if (random_.one_in(2)) return;
  time_.after(1s + random_.up_to_ms(20'000), [this] {
    if (calm_) return;
    reload();
    schedule_reload();
  });
}

void Simulation::schedule_clock_step() {
  // A box that follows counts each lifetime from when it has heard of it.
  if (has_standby_ || random_.one_in(2)) return;
  time_.after(1s + random_.up_to_ms(30'000), [this] {
    if (calm_) return;
    const auto most = random_.one_in(2) ? 5'000U : 3'600'000U;
    const std::chrono::milliseconds by(1 + random_.below(most));
    const bool back = random_.one_in(2);
    ++tally_.clock_steps;
    trace("the wall clock steps " + std::to_string(by.count()) + (back ? " ms back" : " ms on"));
    wall_.step(back ? -by : by);
    schedule_clock_step();
  });
}

void Simulation::reload() {
  ++tally_.reloads;
  unknown_.clear();
  for (const char* name : {"a", "b", "viewer"}) {
    if (random_.one_in(3)) unknown_.insert(name);
  }
  trace("the configuration is read again, without " + std::to_string(unknown_.size()) + " agents");
  // The boxes of a pair have the same configuration.
  judge_.reconfigured(unknown_);
  for (auto* life : {life_.get(), predecessor_.get(), standby_.get()}) {
    if (life == nullptr) continue;
    life->core().apply(test::Model::directory(unknown_), test::Model::kMiddleboxSecret);
  }
}

void Simulation::settle() {
  calm_ = true;
  if (!life_) run_until(time_.now() + 6s);  // it starts again
  end_predecessor();
  backends_[box_].heal();
  if (store_) store_->heal();
  for (const auto& client : clients_) client->resume();
  run_until(time_.now() + kCalmTime);
  judge_.quiet(life_->core().rule_count());
  if (standby_) judge_standby();
  trace("all is quiet, with " + std::to_string(model_.rules.size()) + " rules");
}

void Simulation::judge_standby() {
  const auto& table = backends_[box_].table();
  const auto& beside = backends_[1 - box_].table();
  for (const auto& [pid, enforced] : beside) {
    const bool due = enforced.rule.expires_at < time_.now() + 100ms;  // each ends it by itself
    demand(due || table.contains(pid), "the box that stands by has rule " + std::to_string(pid));
  }
  for (const auto& [pid, enforced] : table) {
    const auto same = beside.find(pid);
    if (enforced.rule.expires_at < time_.now() + 100ms) continue;
    demand(same != beside.end(), "the box that stands by lacks rule " + std::to_string(pid));
    const auto& rule = same->second.rule;
    const auto later = rule.expires_at - enforced.rule.expires_at;
    demand(rule.kind == enforced.rule.kind && std::chrono::abs(later) <= 5ms,
           "the box that stands by has another rule " + std::to_string(pid) + ", which ends " +
               std::to_string(later / 1ms) + " ms later");
  }
}

void Simulation::stop() {
  bool stopped = false;
  life_->core().stop([&] { stopped = true; });
  judge();
  judge_.stopped();
  run_until(time_.now() + 5s);
  if (!stopped) throw Fault("the middlebox does not stop");
  life_.reset();
}

// --- Agents --------------------------------------------------------------------------------------

void Simulation::connect(Client& client, const test::MemoryPath& path, const Proof& proof) {
  const auto number = ++sessions_;
  auto channel = client.connect(number, time_, path, proof, record_);
  judge_.connected(number, client.who, client.auditor, proof.genuine());
  life_->core().accept(std::move(channel), middlebox::Require::kNone);
  const TransactionId se{++tids_};
  client.open(se, {++tids_});
  ++tally_.connections;
}

Proof Simulation::random_proof() {
  if (random_.one_in(2)) return {};
  const auto kind = random_.one_in(5) ? Proof::Kind::kWrongSecret : Proof::Kind::kSecret;
  return {kind, random_.one_in(2)};
}

test::MemoryPath Simulation::random_path() {
  test::MemoryPath path;
  if (random_.one_in(2)) {
    path.transport = net::Transport::kSctp;
    path.streams = static_cast<std::uint16_t>(1 + random_.below(16));
  }
  const auto slowest = random_.below(50);
  path.delay = [this, slowest] { return random_.up_to_ms(slowest); };
  if (random_.one_in(8)) path.window = 500 + random_.below(5000);
  path.segment = random_.one_in(4) ? 1 + random_.below(100) : 10'000;
  return path;
}

void Simulation::schedule(std::size_t client) {
  const auto pause = random_.one_in(5) ? random_.up_to_ms(3000) : random_.up_to_ms(200);
  time_.after(pause, [this, client] {
    if (calm_) return;
    act(*clients_[client]);
    schedule(client);
  });
}

void Simulation::act(Client& client) {
  if (!life_ || !judge_.is_open(auditor_->session)) return;
  if (client.connected() && client.session <= last_session_of_predecessor_) {
    client.send({++tids_}, generator_.request());
    return;
  }
  if (!client.connected()) {
    if (client.session > last_session_of_predecessor_) judge_.session_over(client.session);
    return connect(client, random_path(), random_proof());
  }
  if (random_.one_in(150)) {
    trace(client.who + " is cut off");
    ++tally_.cuts;
    judge_.cut(client.session);
    return client.cut();
  }
  if (random_.one_in(150)) {
    judge_.leaving(client.session);
    return client.close();
  }
  if (random_.one_in(100)) {
    client.pause();
    return time_.after(random_.up_to_ms(4000), [&client] { client.resume(); });
  }
  if (!judge_.is_open(client.session)) return;
  if (random_.one_in(100)) {
    judge_.leaving(client.session);
    client.send({++tids_}, StRequest{});
    return;
  }
  if (random_.one_in(60)) return flood(client);
  for (auto left = 1 + (random_.one_in(3) ? random_.below(8) : 0); left > 0; --left) ask(client);
}

void Simulation::ask(Client& client) {
  if (judge_.in_flight(client.session) < kInFlightMax) ask(client, generator_.request());
}

void Simulation::ask(Client& client, const Body& request) {
  const TransactionId tid{++tids_};
  judge_.asked(client.session, tid, request);
  ++tally_.requests;
  client.send(tid, request);
}

void Simulation::flood(Client& client) {
  const auto other = std::ranges::find_if(clients_, [&](const auto& candidate) {
    return candidate->who != client.who && candidate->connected() &&
           candidate->session > last_session_of_predecessor_ && judge_.is_open(candidate->session);
  });
  if (other == clients_.end() || judge_.in_flight(client.session) > 0) return;
  trace(client.who + " asks for many large rules");
  for (auto left = 4 + random_.below(8); left > 0; --left) ask(client, generator_.large());
  // The batch of the first ones must be under way before the disable rule is asked for.
  const auto pid = (*other)->session;
  time_.after(random_.up_to_ms(60), [this, &second = **other, pid] {
    const bool same = second.session == pid && pid > last_session_of_predecessor_;
    if (calm_ || !same || !judge_.is_open(pid)) return;
    ask(second, generator_.against_large());
  });
}

}  // namespace simco::simulator
