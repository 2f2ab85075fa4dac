// Opens a pinhole for each INTERNAL endpoint, all at once, and removes them: with callbacks.
//
//     c++ -std=c++23 callback.cpp $(pkg-config --cflags --libs simco-agent-cpp) -o callback
//     ./callback 127.0.0.1:7626 192.0.2.7:6000 10.0.0.5:5004 10.0.0.6:5004
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <span>
#include <stdexcept>

#include "agent/agent.hpp"

using boost::system::error_code;
using namespace std::chrono_literals;
using namespace simco;

namespace {

class Calls {
 public:
  Calls(boost::asio::io_context& io, std::vector<PerRequest> wanted)
      : agent_(io.get_executor()), wanted_(std::move(wanted)), open_(wanted_.size()) {}

  void start(const net::HostPort& middlebox) {
    agent_.open(middlebox, [this](error_code error, Capabilities) {
      if (error) return fail("no session", error);
      for (const auto& request : wanted_) {
        agent_.enable(request, [this](error_code refused, agent::EnabledRule rule) {
          enabled(refused, rule);
        });
      }
    });
  }
  bool failed() const { return failed_; }

 private:
  void enabled(error_code error, const agent::EnabledRule& rule) {
    if (error) {
      fail("no pinhole", error);
      return one_less();
    }
    std::printf("rule %u: %u s\n", rule.pid.value, rule.lifetime.seconds);
    agent_.remove(rule.pid, [this](error_code not_removed) {
      if (not_removed) fail("the pinhole stays", not_removed);
      one_less();
    });
  }
  void one_less() {
    if (--open_ != 0) return;
    agent_.close([this](error_code error) {
      if (error) fail("the session did not end in order", error);
    });
  }
  void fail(const char* what, error_code error) {
    std::fprintf(stderr, "callback: %s: %s\n", what, error.message().c_str());
    failed_ = true;
  }

  agent::Agent agent_;
  std::vector<PerRequest> wanted_;
  std::size_t open_;
  bool failed_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("usage: callback MIDDLEBOX EXTERNAL INTERNAL...\n", stderr);
    return 2;
  }
  const auto middlebox = net::parse_host_port(argv[1], kSimcoPort);
  if (!middlebox) {
    std::fprintf(stderr, "callback: %s\n", middlebox.error().c_str());
    return 2;
  }
  std::vector<PerRequest> wanted;
  try {
    for (const char* internal : std::span(argv, static_cast<std::size_t>(argc)).subspan(3)) {
      wanted.push_back(PerRequest::udp(internal, argv[2], 60s));
    }
  } catch (const std::invalid_argument& wrong) {
    std::fprintf(stderr, "callback: %s\n", wrong.what());
    return 2;
  }
  boost::asio::io_context io;
  Calls calls(io, std::move(wanted));
  calls.start(*middlebox);
  io.run();
  return calls.failed() ? 1 : 0;
}
