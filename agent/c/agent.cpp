// Level one of simco/agent.h, and code that both levels share.
#include <chrono>
#include <cstring>

#include "agent/c/convert.hpp"
#include "agent/c/guarded.hpp"
#include "agent/stream_agent.hpp"
#include "simco/wire/tuple_text.hpp"

using namespace simco;
using agent::StreamAgent;
using agent::c::guarded;

namespace {

Instant at(std::int64_t milliseconds) { return Instant{std::chrono::milliseconds(milliseconds)}; }

const char* own_error_text(int error) {
  switch (error) {
    case SIMCO_OK: return "success";
    case SIMCO_ERR_INVALID: return "invalid argument";
    case SIMCO_ERR_CONNECT: return "cannot connect to the middlebox";
    case SIMCO_ERR_NO_MEMORY: return "out of memory";
    default: return agent::to_string(static_cast<agent::AgentError>(-error)).data();
  }
}

}  // namespace

/// The C handle: a StreamAgent that passes its events to C callbacks.
struct simco_agent final : private StreamAgent::Observer {
 public:
  simco_agent(const StreamAgent::Options& options, const simco_callbacks& callbacks, void* user,
              Instant now)
      : callbacks_(callbacks), user_(user), stream(*this, options, now) {}

 private:
  void on_open(const Capabilities& capabilities) override {
    if (callbacks_.on_open == nullptr) return;
    const auto told = agent::c::to_c(capabilities);
    callbacks_.on_open(user_, &told);
  }
  void on_event() override {
    const auto event = stream.take_event();
    if (!event || callbacks_.on_event == nullptr) return;
    const auto told = agent::c::to_c(*event);
    callbacks_.on_event(user_, &told);
  }
  void on_end(const boost::system::error_code& reason) override {
    if (callbacks_.on_end != nullptr) callbacks_.on_end(user_, agent::c::error_value(reason));
  }

  simco_callbacks callbacks_;
  void* user_;

 public:
  /// Does `work`. If memory is exhausted meanwhile, the session is over: its view of its
  /// transactions may be incomplete.
  template <class Work>
  void run(Work work) {
    const bool done = guarded(false, [&work] {
      work();
      return true;
    });
    if (!done) stream.connection_lost(make_error_code(boost::system::errc::not_enough_memory));
  }

  StreamAgent stream;  // last: its constructor queues the first message
};

extern "C" {

const char* simco_strerror(int error) {
  if ((error >> 8) != 3) return own_error_text(error);
  const auto code = negative_reply_code(static_cast<std::uint8_t>(error & 0xFF));
  return code ? to_string(*code).data() : "undefined negative reply";
}

int simco_tuple_parse(simco_tuple* tuple, const char* text, int ip_version, uint8_t protocol,
                      enum simco_location location) {
  if (text == nullptr || location > SIMCO_EXTERNAL) return SIMCO_ERR_INVALID;
  return guarded<int>(SIMCO_ERR_NO_MEMORY, [=] {
    const auto endpoint = parse_endpoint(text);
    const bool any = endpoint && !endpoint->prefix;
    if (!endpoint || (any && ip_version != 4 && ip_version != 6)) return SIMCO_ERR_INVALID;
    *tuple = agent::c::to_c(endpoint->tuple(ip_version == 6 ? IpVersion::kIpv6 : IpVersion::kIpv4,
                                            protocol, static_cast<Location>(location)));
    return SIMCO_OK;
  });
}

size_t simco_tuple_format(const simco_tuple* tuple, char* text, size_t size) {
  const auto value = agent::c::from_c(*tuple);
  const std::string result = guarded(
      std::string(), [&value] { return value ? to_text(*value) : std::string("(invalid)"); });
  if (size != 0) {
    const std::size_t count = std::min(size - 1, result.size());
    std::memcpy(text, result.data(), count);
    text[count] = '\0';
  }
  return result.size();
}

simco_agent* simco_agent_new(const simco_agent_config* config, const simco_callbacks* callbacks,
                             void* user, int64_t now_ms) {
  const simco_agent_config settings = config != nullptr ? *config : simco_agent_config{};
  const auto observer = callbacks != nullptr ? *callbacks : simco_callbacks{};
  return guarded<simco_agent*>(nullptr, [&]() -> simco_agent* {
    auto authentication = agent::c::authentication_of(settings);
    if (!authentication) return nullptr;
    StreamAgent::Options options;
    if (settings.timeout_ms != 0) options.timeout = std::chrono::milliseconds(settings.timeout_ms);
    options.authentication = std::move(*authentication);
    return new simco_agent(options, observer, user, at(now_ms));
  });
}

void simco_agent_free(simco_agent* agent) { delete agent; }

void simco_agent_feed(simco_agent* agent, const void* octets, size_t size) {
  agent->run([=] { agent->stream.feed({static_cast<const std::byte*>(octets), size}); });
}

size_t simco_agent_output(const simco_agent* agent, const void** octets) {
  const auto output = agent->stream.output();
  *octets = output.data();
  return output.size();
}

void simco_agent_consume(simco_agent* agent, size_t size) { agent->stream.consume(size); }

int64_t simco_agent_next_deadline(const simco_agent* agent) {
  const auto next = agent->stream.next_deadline();
  if (!next) return -1;
  // Rounded up: a call before the time would find nothing to do.
  return std::chrono::ceil<std::chrono::milliseconds>(next->time_since_epoch()).count();
}

void simco_agent_on_deadline(simco_agent* agent, int64_t now_ms) {
  agent->run([=] { agent->stream.on_deadline(at(now_ms)); });
}

int simco_agent_submit(simco_agent* agent, const simco_request* request, int64_t now_ms,
                       simco_reply_cb done, void* user) {
  const auto wanted = agent::c::from_c(*request);
  if (!wanted || done == nullptr) return SIMCO_ERR_INVALID;
  auto& stream = agent->stream;
  const auto finish = [&stream, done, user](TransactionEnd how, const Body* reply) {
    int error = agent::c::error_value(agent::error_of(how, reply, stream.end_reason()));
    std::optional<agent::c::Reply> told;
    if (error == SIMCO_OK) {
      error = guarded<int>(SIMCO_ERR_NO_MEMORY, [&told, reply] {
        told.emplace(*reply);
        return SIMCO_OK;
      });
    }
    done(user, error, error == SIMCO_OK ? told->get() : nullptr);
  };
  return guarded<int>(SIMCO_ERR_NO_MEMORY, [&] {
    return agent::c::error_value(stream.request(wanted->body, wanted->rule, at(now_ms), finish));
  });
}

void simco_agent_close(simco_agent* agent, int64_t now_ms) {
  agent->run([=] { agent->stream.close(at(now_ms)); });
}

void simco_agent_connection_lost(simco_agent* agent) { agent->stream.connection_lost(); }

}  // extern "C"
