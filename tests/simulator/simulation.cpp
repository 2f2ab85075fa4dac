#include "tests/simulator/simulation.hpp"

#include <algorithm>
#include <utility>

#include "tests/simulator/client.hpp"
#include "tests/simulator/life.hpp"

namespace simco::simulator {

using namespace std::chrono_literals;

namespace {

constexpr auto kBusyTime = 60s;  ///< agents are active for that long
constexpr auto kCalmTime = 10s;  ///< longer than any delay, retry and resend
constexpr std::uint32_t kInFlightMax = 40;

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
      model_(mode_),
      generator_(random_.engine, model_),
      backend_(time_, random_),
      store_(seed / 3 % 4 == 0 ? std::optional<SimStore>()
                               : std::optional<SimStore>(std::in_place, time_, random_)),
      judge_(model_, time_, backend_, store_ ? &*store_ : nullptr,
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
    schedule_crash();
    run_until(time_.now() + kBusyTime);
    settle();
    stop();
  } catch (const Fault& fault) {
    throw Fault(in_seconds(time_.now()) + fault.what());
  }
  tally_.replies = judge_.replies;
  tally_.grants = judge_.grants;
  tally_.events = judge_.events;
  return tally_;
}

void Simulation::run_until(Instant end) {
  while (time_.now() < end && time_.step()) judge();
}

void Simulation::judge() {
  const auto for_closed = [&](auto tell) {
    for (const auto& client : clients_) {
      if (client->session != 0 && client->middlebox_is_done()) tell(client->session);
    }
  };
  for_closed([&](auto session) { judge_.closed(session); });
  judge_.judge(record_);
  for_closed([&](auto session) { judge_.session_over(session); });
}

// --- The middlebox -------------------------------------------------------------------------------

void Simulation::start() {
  middlebox::CoreOptions options;
  options.rules_max = test::Model::kRulesMax;
  options.nat = test::Model::nat_options(mode_);
  options.directory = test::Model::directory();
  options.audit_rate = 0;
  life_ = std::make_unique<Life>(options, time_, random_, backend_, store_ ? &*store_ : nullptr);
  judge_.recovered();
  trace("the middlebox starts with " + std::to_string(model_.rules.size()) + " rules");
  auditor_ = std::make_unique<Client>("boss", true);
  connect(*auditor_, {});
}

void Simulation::crash() {
  if (calm_ || !life_) return;
  trace("the middlebox crashes");
  ++tally_.crashes;
  backend_.crash();
  if (store_) store_->crash();
  life_.reset();
  record_.clear();
  for (const auto& client : clients_) client->drop();
  auditor_.reset();
  judge_.crashed();
  time_.after(random_.up_to_ms(5000), [this] {
    start();
    schedule_crash();
  });
}

void Simulation::schedule_crash() {
  if (random_.one_in(3)) return;
  time_.after(1s + random_.up_to_ms(60'000), [this] { crash(); });
}

void Simulation::settle() {
  calm_ = true;
  if (!life_) run_until(time_.now() + 6s);  // it starts again
  backend_.heal();
  if (store_) store_->heal();
  for (const auto& client : clients_) client->resume();
  run_until(time_.now() + kCalmTime);
  judge_.quiet(life_->core().rule_count());
  trace("all is quiet, with " + std::to_string(model_.rules.size()) + " rules");
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

void Simulation::connect(Client& client, const test::MemoryPath& path) {
  const auto number = ++sessions_;
  auto channel = client.connect(number, time_, path, record_);
  judge_.connected(number, client.who, client.auditor);
  life_->core().accept(std::move(channel), middlebox::Require::kNone);
  client.send({++tids_}, SeRequest{{3, 0}, {}});
  ++tally_.connections;
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
  if (!client.connected()) {
    if (client.session != 0) judge_.session_over(client.session);
    return connect(client, random_path());
  }
  if (random_.one_in(150)) {
    trace(client.who + " is cut off");
    ++tally_.cuts;
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
  for (auto left = 1 + (random_.one_in(3) ? random_.below(8) : 0); left > 0; --left) ask(client);
}

void Simulation::ask(Client& client) {
  if (judge_.in_flight(client.session) >= kInFlightMax) return;
  const Body request = generator_.request();
  const TransactionId tid{++tids_};
  judge_.asked(client.session, tid, request);
  ++tally_.requests;
  client.send(tid, request);
}

}  // namespace simco::simulator
