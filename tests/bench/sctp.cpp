// PER transactions a second over SCTP through simco-middlebox (null backend) on one association of
// 16 streams, against a bare server on the same stack that answers messages of the same sizes
// without doing any work; and over TCP beside them. The same client drives all; every run starts a
// fresh server, and they take turns. Prints medians, the time of one transaction, and ratios: with
// client and server on one processor, where only the work counts, and on two, where the time to
// wake the other counts, too.
//
//   bench-sctp path/to/simco-middlebox userland|kernel [rounds [transactions]]
//
// In the laboratory's guest, where one instruction is one nanosecond of one processor that is never
// idle, the time of a transaction is its instructions: client, server and kernel together.
#include <boost/asio/io_context.hpp>
#include <optional>

#include "simco/binding/framer.hpp"
#include "simco/binding/send.hpp"
#include "simco/net/connector.hpp"
#include "tests/bench/bare_sctp.hpp"
#include "tests/bench/session_driver.hpp"

namespace {

using namespace simco;
using namespace simco::bench;

constexpr std::uint16_t kUdpPort = 17'713;
constexpr std::uint32_t kStreams = 16;

/// Keeps `window` PERs in flight, each for another pinhole, until `count` are answered.
class Driver final : public net::ChannelHandler {
 public:
  Driver(const net::TransportOptions& transport, std::uint32_t count, std::uint32_t window)
      : count_(count), window_(window) {
    request_.parameters.direction = Direction::kBidirectional;
    for (auto* tuple : {&request_.internal, &request_.external}) {
      tuple->protocol = kProtocolUdp;
      tuple->port = 16384;
      tuple->port_range = 2;
    }
    request_.external.location = Location::kExternal;
    request_.lifetime = {120};
    connect(transport);
  }
  ~Driver() {
    channel_->detach();
    io_.poll();
  }

  /// Transactions a second. `session`: opens one first and looks for the last rule at the end.
  double run(bool session) {
    if (session) control(SeRequest{});
    const auto begin = Clock::now();
    send(window_);
    while (answered_ < count_) io_.run_one();
    const std::chrono::duration<double> elapsed = Clock::now() - begin;
    if (session && control(PrsRequest{{last_pid_}}) != PesReply::kType) {
      std::fprintf(stderr, "rule %u is not there: the middlebox refused requests\n", last_pid_);
      std::exit(1);
    }
    return count_ / elapsed.count();
  }

 private:
  void connect(const net::TransportOptions& transport) {
    for (int attempt = 0; attempt < 200 && !channel_; ++attempt) {
      std::optional<boost::system::error_code> result;
      net::connect(io_.get_executor(), transport, {"127.0.0.1", kPort},
                   std::chrono::milliseconds(1000), buffer_,
                   [&](const auto& error, std::shared_ptr<net::MessageChannel> channel) {
                     result = error;
                     channel_ = std::move(channel);
                   });
      while (!result) io_.run_one();
      if (!channel_) ::usleep(10'000);
    }
    if (!channel_) die("connect");
    channel_->start(*this, {kMessageFramer});
  }
  /// Sends a request and returns the type of its reply.
  MessageType control(const Body& body) {
    controlling_ = true;
    simco::send(*channel_, {0}, body);
    channel_->flush();
    while (controlling_) io_.run_one();
    return control_type_;
  }
  void send(std::uint32_t n) {
    for (n = std::min(n, count_ - sent_); n > 0; --n) {
      const std::uint32_t number = ++sent_;
      std::memcpy(request_.internal.address.data(), &number, sizeof number);
      simco::send(*channel_, {number}, request_);
    }
    channel_->flush();
  }
  net::Flow on_message(std::span<const std::byte> message, net::Delivery) override {
    if (controlling_) {
      controlling_ = false;
      control_type_ = read_header(message.first<kHeaderSize>()).type;
    } else {
      std::memcpy(&last_pid_, message.data() + kPidAt, sizeof last_pid_);
      last_pid_ = ntohl(last_pid_);
      ++answered_;
      ++fresh_;
    }
    return net::Flow::kContinue;
  }
  void on_malformed(net::FramingError) override { die("malformed reply"); }
  void on_input_done(std::optional<std::chrono::nanoseconds>) override {
    if (fresh_ != 0) send(std::exchange(fresh_, 0));
  }
  void on_output_drained() override {}
  void on_closed(const boost::system::error_code&) override { die("the server closed"); }

  boost::asio::io_context io_;
  net::ReadBuffer buffer_{};
  std::shared_ptr<net::MessageChannel> channel_;
  PerRequest request_;
  std::uint32_t count_;
  std::uint32_t window_;
  std::uint32_t sent_ = 0;
  std::uint32_t answered_ = 0;
  std::uint32_t fresh_ = 0;
  std::uint32_t last_pid_ = 0;
  bool controlling_ = false;
  MessageType control_type_;
};

net::TransportOptions transport_of(const std::string& stack) {
  net::TransportOptions options;
  options.transport = stack == "tcp" ? net::Transport::kTcp : net::Transport::kSctp;
  options.settings.sctp.stack =
      stack == "kernel" ? net::SctpStack::kKernel : net::SctpStack::kUserland;
  options.settings.sctp.streams = kStreams;
  options.settings.sctp.udp_encaps = kUdpPort;
  return options;
}

/// Kinds of server: the middlebox, or a bare one, bundling its replies or not.
enum class Server { kMiddlebox, kBare, kBundling };

std::string g_self;
std::string g_program;

double measure(const std::string& stack, Server server, std::uint32_t count, std::uint32_t window) {
  const auto port = std::to_string(kPort);
  const bool middlebox = server == Server::kMiddlebox;
  const std::vector<std::string> bare{g_self, "bare", stack,
                                      server == Server::kBundling ? "bundle" : "single"};
  const std::vector<std::string> real{g_program,
                                      "--transport",
                                      stack == "tcp" ? "tcp" : "sctp",
                                      "--sctp-stack",
                                      stack == "tcp" ? "auto" : stack,
                                      "--udp-encaps",
                                      std::to_string(kUdpPort),
                                      "--port",
                                      port,
                                      "--max-rules",
                                      "20000000",
                                      "--log-level",
                                      "error"};
  const pid_t child = start(0, middlebox ? real : bare);
  double rate = 0;
  {
    Driver driver(transport_of(stack), count, window);
    rate = driver.run(middlebox);
  }
  stop(child);
  return rate;
}

void print(const char* what, const std::string& stack, int cores, std::uint32_t window, double rate,
           double ratio) {
  std::printf("%-9s %5d %6u %-24s %12.0f %9.3f", stack.c_str(), cores, window, what, rate,
              1e6 / rate);
  if (ratio > 0) std::printf(" %8.2f", ratio);
  std::printf("\n");
  std::fflush(stdout);
}

void compare(const std::string& stack, int cores, std::uint32_t window, std::uint32_t count,
             int rounds) {
  std::vector<double> bare, bundling, middlebox, tcp, ratio, bundled_ratio;
  for (int round = 0; round < rounds; ++round) {
    bare.push_back(measure(stack, Server::kBare, count, window));
    middlebox.push_back(measure(stack, Server::kMiddlebox, count, window));
    bundling.push_back(measure(stack, Server::kBundling, count, window));
    tcp.push_back(measure("tcp", Server::kMiddlebox, count, window));
    ratio.push_back(middlebox.back() / bare.back());
    bundled_ratio.push_back(middlebox.back() / bundling.back());
  }
  print("bare", stack, cores, window, median(bare), 0);
  print("bare, bundling replies", stack, cores, window, median(bundling), 0);
  print("simco-middlebox / bare", stack, cores, window, median(middlebox), median(ratio));
  print("simco-middlebox / bundl.", stack, cores, window, median(middlebox), median(bundled_ratio));
  print("simco-middlebox", "tcp", cores, window, median(tcp), 0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "bare") {
    const bool bundle = std::string(argv[3]) == "bundle";
    if (std::string(argv[2]) == "kernel") bare_kernel_server(kPort, bundle);
    bare_userland_server(kUdpPort, kPort, bundle);
  }
  const std::string stack = argc > 2 ? argv[2] : "";
  if (stack != "kernel" && stack != "userland") {
    std::fprintf(stderr, "usage: bench-sctp path/to/simco-middlebox userland|kernel [rounds]\n");
    return 2;
  }
  g_self = argv[0];
  g_program = argv[1];
  const int rounds = argc > 3 ? std::max(1, std::atoi(argv[3])) : 5;
  const std::uint32_t most = argc > 4 ? static_cast<std::uint32_t>(std::atoi(argv[4])) : 50'000;
  ::signal(SIGPIPE, SIG_IGN);
  std::printf("%-9s %5s %6s %-24s %12s %9s %8s\n", "stack", "cores", "window", "server", "PER/s",
              "us each", "ratio");
  for (const int cores : {1, 2}) {
    pin(cores - 1);  // the server is on the first
    for (const std::uint32_t window : {1U, 16U, 256U}) {
      compare(stack, cores, window, std::min(most, window == 1 ? 5'000U : 50'000U), rounds);
    }
  }
}
