// Level two of the C library. Each client runs a Driver on the library's thread; completions and
// events are queued, and a descriptor becomes readable, until the caller dispatches them.
#include "agent/c/client.hpp"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <expected>
#include <future>
#include <string_view>
#include <system_error>
#include <utility>

#include "agent/c/convert.hpp"
#include "agent/c/guarded.hpp"
#include "agent/c/limits.hpp"
#include "simco/net/transport_type.hpp"
#include "simco/wire/limits.hpp"

using namespace simco;
using agent::Outcome;
using agent::c::guarded;
using boost::system::error_code;

namespace simco::agent::c {

Wakeup::Wakeup() : descriptor_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

Wakeup::~Wakeup() { ::close(descriptor_); }

void Wakeup::signal() {
  // Fails only if the count is at its end: then it is readable already.
  [[maybe_unused]] const int result = ::eventfd_write(descriptor_, 1);
}

void Wakeup::clear() {
  eventfd_t count = 0;
  [[maybe_unused]] const int result = ::eventfd_read(descriptor_, &count);
}

Loop::Loop() : work_(io_.get_executor()) {
  // The program's signals are for its own threads.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { io_.run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Loop::~Loop() {
  // Not until it is idle: a peer that does not answer must not keep the process.
  io_.stop();
  thread_.join();
}

std::shared_ptr<Loop> Loop::shared() {
  static std::mutex mutex;
  static std::weak_ptr<Loop> existing;
  const std::scoped_lock lock(mutex);
  auto loop = existing.lock();
  if (loop == nullptr) {
    loop = std::make_shared<Loop>();
    existing = loop;
  }
  return loop;
}

namespace {

std::string text_or_empty(const char* text) { return text == nullptr ? "" : text; }

std::expected<net::TransportOptions, std::string> transport_of(const simco_client_config& config) {
  net::TransportOptions result;
  if (config.transport != nullptr) {
    const auto transport = net::find_transport(config.transport);
    if (!transport) {
      return std::unexpected("unknown transport '" + std::string(config.transport) + "': use " +
                             net::transport_names(" or "));
    }
    result.transport = *transport;
  }
  if (config.streams != 0) net::set_option(result.settings, "streams", config.streams);
  if (config.udp_encaps != 0) net::set_option(result.settings, "udp-encaps", config.udp_encaps);
  const net::TlsFiles files{text_or_empty(config.tls_certificate), text_or_empty(config.tls_key),
                            text_or_empty(config.tls_authority)};
  if (files.empty() && !text_or_empty(config.tls_name).empty()) {
    return std::unexpected("a TLS name needs an authority (CA) file as well");
  }
  if (!files.empty()) {
    if (!net::type_of(result.transport).tls) {
      return std::unexpected("TLS needs the transport " +
                             net::transport_names(" or ", &net::TransportType::tls));
    }
    auto tls = net::TlsContext::load(net::TlsSide::kAgent, files);
    if (!tls) return std::unexpected(tls.error());
    result.tls = std::move(*tls);
    result.tls_name = text_or_empty(config.tls_name);
  }
  if (auto fault = net::fault_in_use({&result.transport, 1}, result.settings, result.tls.get())) {
    return std::unexpected(std::move(*fault));
  }
  return result;
}

std::expected<AgentOptions, std::string> options_of(const simco_client_config& config) {
  AgentOptions result;
  auto authentication = authentication_of(config.agent);
  if (!authentication) {
    return std::unexpected("give both a name (at most 255 bytes) and a secret, or neither");
  }
  auto transport = transport_of(config);
  if (!transport) return std::unexpected(transport.error());
  if (config.agent.timeout_ms != 0) {
    result.timeout = std::chrono::milliseconds(config.agent.timeout_ms);
  }
  result.credentials = std::move(authentication->credentials);
  result.middlebox_secret = std::move(authentication->middlebox_secret);
  result.transport = std::move(*transport);
  return result;
}

}  // namespace
}  // namespace simco::agent::c

// --- The handle ----------------------------------------------------------------------------------

simco_client::simco_client(const agent::AgentOptions& options, const simco_callbacks& callbacks,
                           void* user)
    : callbacks_(callbacks),
      user_(user),
      loop_(agent::c::Loop::shared()),
      driver_(std::make_shared<agent::Driver>(loop_->io().get_executor(), options)) {}

simco_client::~simco_client() {
  // Earlier posted handlers have run before this one; afterwards nothing on the loop refers to us.
  std::promise<void> down;
  boost::asio::post(loop_->io(), [this, &down] {
    driver_->shut_down();
    down.set_value();
  });
  down.get_future().wait();
}

int simco_client::open(const std::string& middlebox) {
  if (state_ != State::kClosed) return SIMCO_ERR_ALREADY_OPEN;
  const auto target = net::parse_host_port(middlebox, kSimcoPort);
  if (!target) return SIMCO_ERR_INVALID;
  boost::asio::post(loop_->io(), [this, target = *target] {
    driver_->open(target, [this](const error_code& error, const Outcome& outcome) {
      on_opened(error, outcome);
    });
  });
  state_ = State::kOpening;
  return SIMCO_OK;
}

int simco_client::submit(const simco_request& request, simco_reply_cb done, void* user) {
  auto wanted = agent::c::from_c(request);
  if (!wanted || done == nullptr) return SIMCO_ERR_INVALID;
  if (state_ != State::kOpen) return SIMCO_ERR_NOT_OPEN;
  boost::asio::post(loop_->io(), [this, wanted = std::move(*wanted), done, user] {
    const auto* change = std::get_if<PlcRequest>(&wanted.body);
    if (change != nullptr && change->lifetime.seconds == 0) on_let_go(change->pid);
    driver_->transact(wanted.body, wanted.rule,
                      [this, done, user](const error_code& error, const Outcome& outcome) {
                        on_replied(done, user, error, outcome);
                      });
  });
  return SIMCO_OK;
}

int simco_client::hold(const simco_request& request, simco_reply_cb done, simco_lost_cb lost,
                       void* user) {
  const auto wanted = agent::c::from_c(request);
  if (!wanted || done == nullptr || lost == nullptr) return SIMCO_ERR_INVALID;
  if (request.type != SIMCO_ENABLE && request.type != SIMCO_ENABLE_RESERVED) {
    return SIMCO_ERR_INVALID;
  }
  if (state_ != State::kOpen) return SIMCO_ERR_NOT_OPEN;
  boost::asio::post(loop_->io(), [this, body = wanted->body, done, lost, user] {
    driver_->enable_and_hold(
        body, [this, done, lost, user](const error_code& error, const Outcome& outcome) {
          on_replied(done, user, error, outcome);
          if (!error) on_held(lost, user, outcome);
        });
  });
  return SIMCO_OK;
}

int simco_client::release(std::uint32_t pid) {
  boost::asio::post(loop_->io(), [this, pid] { on_let_go(PolicyRuleId{pid}); });
  return SIMCO_OK;
}

int simco_client::reconnect(simco_change_cb on_change) {
  agent::Reconnect options;
  options.on_change = [this, on_change](const error_code& change) {
    if (on_change == nullptr) return;
    post_callback(
        [this, on_change, error = agent::c::error_value(change), text = change.message()] {
          if (error != SIMCO_OK) error_text_ = text;
          on_change(user_, error);
        });
  };
  boost::asio::post(loop_->io(), [this, options = std::move(options)]() mutable {
    driver_->set_reconnect(std::move(options));
  });
  return SIMCO_OK;
}

int simco_client::close() {
  if (state_ == State::kClosed) return SIMCO_ERR_NOT_OPEN;
  boost::asio::post(loop_->io(),
                    [this] { driver_->close([](const error_code&, const Outcome&) {}); });
  return SIMCO_OK;
}

std::size_t simco_client::dispatch() {
  std::vector<Callback> due;
  {
    const std::scoped_lock lock(mutex_);
    // First, because it may fail: then the next call finds everything as it was.
    const bool paused = events_due_ >= agent::c::kEventsDueMax;
    if (paused) boost::asio::post(loop_->io(), [this] { on_await_event(); });
    events_due_ = 0;
    wakeup_.clear();
    due.swap(due_);
  }
  for (auto& callback : due) callback();
  return due.size();
}

void simco_client::post_callback(Callback callback) {
  const std::scoped_lock lock(mutex_);
  due_.push_back(std::move(callback));
  wakeup_.signal();
}

// --- On the client's thread ----------------------------------------------------------------------

void simco_client::on_opened(const error_code& error, const Outcome& outcome) {
  if (error) return end_session(error);
  post_callback([this, told = agent::c::to_c(*outcome.capabilities)] {
    state_ = State::kOpen;
    if (callbacks_.on_open != nullptr) callbacks_.on_open(user_, &told);
  });
  on_await_event();
}

void simco_client::on_replied(simco_reply_cb done, void* user, const error_code& error,
                              const Outcome& outcome) {
  auto reply = error ? nullptr : std::make_unique<agent::c::Reply>(*outcome.body);
  post_callback([done, user, error = agent::c::error_value(error), reply = std::move(reply)] {
    done(user, error, reply ? reply->get() : nullptr);
  });
}

void simco_client::on_held(simco_lost_cb lost, void* user, const Outcome& outcome) {
  const auto pid = std::get<PerReply>(*outcome.body).pid.value;
  driver_->keeper().lost(
      *outcome.held, [this, lost, user, pid](const error_code& let_go, const Outcome& end) {
        if (let_go) return;
        post_callback([lost, user, pid, why = agent::c::to_c(*end.loss)] { lost(user, pid, why); });
      });
}

void simco_client::on_let_go(PolicyRuleId pid) {
  if (const auto held = driver_->keeper().find(pid)) driver_->keeper().let_go(*held);
}

void simco_client::on_await_event() {
  driver_->next_event(
      [this](const error_code& error, const Outcome& outcome) { on_event(error, outcome); });
}

void simco_client::on_event(const error_code& error, const Outcome& outcome) {
  if (error) return end_session(error);
  post_callback([this, told = agent::c::to_c(*outcome.event)] {
    if (callbacks_.on_event != nullptr) callbacks_.on_event(user_, &told);
  });
  const auto has_room = [this] {
    const std::scoped_lock lock(mutex_);
    return ++events_due_ < agent::c::kEventsDueMax;
  };
  if (has_room()) on_await_event();  // otherwise dispatch() goes on
}

void simco_client::end_session(const error_code& reason) {
  post_callback([this, error = agent::c::error_value(reason), text = reason.message()]() mutable {
    state_ = State::kClosed;
    error_text_ = std::move(text);
    if (callbacks_.on_end != nullptr) callbacks_.on_end(user_, error);
  });
}

// --- The C functions -----------------------------------------------------------------------------

namespace {

void tell(char* error, std::size_t size, std::string_view text) {
  if (error == nullptr || size == 0) return;
  const std::size_t count = std::min(size - 1, text.size());
  std::memcpy(error, text.data(), count);
  error[count] = '\0';
}

}  // namespace

extern "C" {

simco_client* simco_client_new(const simco_client_config* config, const simco_callbacks* callbacks,
                               void* user, char* error, size_t error_size) {
  const simco_client_config settings = config != nullptr ? *config : simco_client_config{};
  const auto observer = callbacks != nullptr ? *callbacks : simco_callbacks{};
  return guarded<simco_client*>(
      nullptr,
      [&]() -> simco_client* {
        const auto options = agent::c::options_of(settings);
        if (options) return new simco_client(*options, observer, user);
        tell(error, error_size, options.error());
        return nullptr;
      },
      [&](const char* failure) { tell(error, error_size, failure); });
}

void simco_client_free(simco_client* client) { delete client; }

int simco_client_open(simco_client* client, const char* middlebox) {
  if (middlebox == nullptr) return SIMCO_ERR_INVALID;
  return guarded<int>(SIMCO_ERR_NO_MEMORY, [=] { return client->open(middlebox); });
}

int simco_client_fd(const simco_client* client) { return client->descriptor(); }

size_t simco_client_dispatch(simco_client* client) {
  return guarded<size_t>(0, [client] { return client->dispatch(); });
}

int simco_client_submit(simco_client* client, const simco_request* request, simco_reply_cb done,
                        void* user) {
  return guarded<int>(SIMCO_ERR_NO_MEMORY, [=] { return client->submit(*request, done, user); });
}

int simco_client_close(simco_client* client) {
  return guarded<int>(SIMCO_ERR_NO_MEMORY, [client] { return client->close(); });
}

int simco_client_reconnect(simco_client* client, simco_change_cb on_change) {
  return guarded<int>(SIMCO_ERR_NO_MEMORY, [=] { return client->reconnect(on_change); });
}

int simco_client_hold(simco_client* client, const simco_request* request, simco_reply_cb done,
                      simco_lost_cb lost, void* user) {
  return guarded<int>(SIMCO_ERR_NO_MEMORY,
                      [=] { return client->hold(*request, done, lost, user); });
}

int simco_client_release(simco_client* client, uint32_t pid) {
  return guarded<int>(SIMCO_ERR_NO_MEMORY, [=] { return client->release(pid); });
}

const char* simco_client_error_text(const simco_client* client) { return client->error_text(); }

}  // extern "C"
