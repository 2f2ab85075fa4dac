// simco-loadgen: parses the options, creates the clients and the generator, runs the load on an
// event loop, and writes the table, the JSON document and the samples.
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/signal_set.hpp>
#include <cstdio>
#include <exception>
#include <expected>
#include <memory>

#include "loadgen/generator.hpp"
#include "loadgen/limits.hpp"
#include "loadgen/options.hpp"
#include "loadgen/output_file.hpp"
#include "loadgen/recorder.hpp"
#include "loadgen/report.hpp"
#include "simco/cli/command_line.hpp"

namespace {

using namespace simco::loadgen;
namespace cli = simco::cli;

/// Returns the target with its hosts in another order: the connections begin with each in turn.
simco::net::HostPort beginning_with(const simco::net::HostPort& target, std::size_t number) {
  auto hosts = target.further_hosts;
  hosts.insert(hosts.begin(), target.host);
  std::ranges::rotate(hosts, hosts.begin() + static_cast<std::ptrdiff_t>(number % hosts.size()));
  simco::net::HostPort result(hosts.front(), target.port);
  result.further_hosts.assign(hosts.begin() + 1, hosts.end());
  return result;
}

Generator::MakeClient client_factory(const Settings& settings, boost::asio::io_context& io,
                                     simco::net::ReadBuffer& read_buffer) {
  const ConnectionOptions options{
      settings.target,
      std::chrono::milliseconds(static_cast<std::int64_t>(settings.generator.timeout_s * 1000)),
      settings.transport,
      settings.unordered,
      settings.connections,
      settings.generator.seed,
      settings.generator.reconnect};
  return [&workload = settings.workload(), options, &io, &read_buffer](std::size_t number,
                                                                       Client::Observer& observer) {
    auto own = options;
    own.target = beginning_with(options.target, number);
    return workload.make_client(io.get_executor(), read_buffer, own, observer);
  };
}

void show_progress(const Generator::Progress& progress) {
  fmt::print(stderr, "\r{} ", progress_text(progress));
  std::fflush(stderr);
}

/// Prints the error, if any. Returns whether there is none.
bool good(const std::expected<void, std::string>& done) {
  if (!done) cli::complain(kProgram, done.error());
  return done.has_value();
}

bool write_results(const Settings& settings, const Results& results, Recorder& recorder) {
  const bool json_to_stdout = settings.json == "-";
  std::fputs(table(results).c_str(), json_to_stdout ? stderr : stdout);
  const bool document = settings.json.empty() || good(write_text(settings.json, json(results)));
  const bool samples = settings.samples.empty() || good(recorder.write_samples(settings.samples));
  return document && samples;
}

/// `--hold`: reports that all connections are open, and waits for a line on standard input, or its
/// end, before the schedule begins. Meanwhile, the caller can prepare (the laboratory enables
/// losses).
class StartGate {
 public:
  StartGate(boost::asio::io_context& io, Generator& generator)
      : input_(io), generator_(generator) {}

  void connected() {
    std::fputs("connected\n", stderr);
    boost::system::error_code error;
    input_.assign(::dup(STDIN_FILENO), error);
    if (error) return generator_.release();
    boost::asio::async_read_until(
        input_, boost::asio::dynamic_buffer(line_, kStartLineMax), '\n',
        [this](const boost::system::error_code&, std::size_t) { generator_.release(); });
  }

 private:
  boost::asio::posix::stream_descriptor input_;
  Generator& generator_;
  std::string line_;
};

int run(const Settings& settings) {
  for (const auto& path : {settings.json, settings.samples}) {
    if (!good(can_write(path))) return 1;
  }
  // Microsecond precision: the kernel must not round our timers.
  ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  boost::asio::io_context io(1);
  const auto read_buffer = std::make_unique<simco::net::ReadBuffer>();
  Recorder recorder(!settings.samples.empty());
  Generator generator(io, settings.generator, recorder, settings.connections,
                      client_factory(settings, io, *read_buffer));
  boost::asio::signal_set signals(io, SIGINT, SIGTERM);
  signals.async_wait([&](const boost::system::error_code& error, int) {
    if (!error) generator.interrupt();
  });
  StartGate gate(io, generator);
  if (settings.hold) generator.hold([&gate] { gate.connected(); });
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  if (terminal) fmt::print(stderr, "{}\n", plan_text(settings.generator));
  generator.run(terminal ? show_progress : std::function<void(const Generator::Progress&)>());
  signals.cancel();
  generator.let_connections_end();
  if (terminal) std::fputs("\r\033[K", stderr);
  const Results results{settings, recorder, generator};
  if (recorder.counts().offered == 0 && settings.json.empty()) {
    cli::complain(kProgram,
                  fmt::format("{} over {}: {}",
                              simco::net::endpoint_text(settings.target.host, settings.target.port),
                              to_string(settings.transport.transport), *generator.abort_reason()));
    return 1;
  }
  const bool written = write_results(settings, results, recorder);
  if (generator.abort_reason()) {
    cli::complain(kProgram, *generator.abort_reason());
  }
  return written && all_positive(results) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const auto settings = parse_settings(argc, argv);
  if (!settings) return simco::cli::leave(settings.error());
  try {
    return run(*settings);
  } catch (const std::exception& failure) {
    cli::complain(kProgram, failure.what());
    return 1;
  }
}
