// A connection reads one request, of bounded size and within a bounded time, answers it and closes.
#include "middlebox/serve/inspector.hpp"

#include <fmt/format.h>

#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <iterator>
#include <stdexcept>

#include "middlebox/limits.hpp"
#include "simco/net/endpoint.hpp"
#include "simco/wire/number.hpp"

namespace simco::middlebox {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using Tcp = asio::ip::tcp;

std::int64_t age_ms(Instant at, Instant now) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(now - at).count();
}

std::string in_json(const PacketCount& count) {
  return fmt::format(R"("packets":{},"octets":{})", count.packets, count.octets);
}

std::string rule_in_json(PolicyRuleId pid, const rule::RuleTraffic& traffic, Instant now) {
  auto text = fmt::format(R"({{"pid":{},{})", pid.value, in_json(traffic.count));
  if (traffic.last_packet) {
    text += fmt::format(R"(,"last_packet":{{"after_ms":{},"until_ms":{}}})",
                        age_ms(traffic.last_packet->after, now),
                        age_ms(traffic.last_packet->until, now));
  }
  text += fmt::format(R"(,"complete_ms":{},"read_ms":{})", age_ms(traffic.complete_since, now),
                      age_ms(traffic.read_at, now));
  const char* before = R"(,"ports":[)";
  for (const auto& [port, count] : traffic.ports) {
    text += fmt::format(R"({}{{"port":{},{}}})", before, port, in_json(count));
    before = ",";
  }
  return text + (traffic.ports.empty() ? "}" : "]}");
}

}  // namespace

std::string to_json(const CountedRules& counted) {
  std::string text =
      fmt::format(R"({{"counting":{},"run":{},"rules":[)", counted.counting, counted.run);
  const char* before = "";
  for (const auto& [pid, traffic] : counted.rules) {
    text += before + rule_in_json(pid, traffic, counted.now);
    before = ",";
  }
  return text + "]}\n";
}

std::optional<std::vector<PolicyRuleId>> rules_in(std::string_view path) {
  constexpr std::string_view kBegin = "/rules/";
  if (!path.starts_with(kBegin)) return std::nullopt;
  path.remove_prefix(kBegin.size());
  std::vector<PolicyRuleId> pids;
  for (;;) {
    const auto comma = path.find(',');
    const auto pid = parse_number<std::uint32_t>(path.substr(0, comma));
    if (!pid || pids.size() == kInspectedRulesMax) return std::nullopt;
    pids.push_back({*pid});
    if (comma == std::string_view::npos) return pids;
    path.remove_prefix(comma + 1);
  }
}

class Inspector::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Tcp::socket socket, const Ask& ask, std::shared_ptr<std::size_t> open)
      : stream_(std::move(socket)), ask_(ask), open_(std::move(open)) {
    ++*open_;
    parser_.header_limit(kInspectorHeaderMax);
    parser_.body_limit(0);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { --*open_; }

  void serve() {
    stream_.expires_after(kInspectorPatience);
    http::async_read(stream_, buffer_, parser_,
                     [self = shared_from_this()](const error_code& error, std::size_t) {
                       if (!error) self->answer();
                     });
  }

 private:
  void answer() {
    const auto& request = parser_.get();
    const auto path = request.target();
    const auto pids = rules_in({path.data(), path.size()});
    response_.version(request.version());
    response_.keep_alive(false);
    if (request.method() != http::verb::get) {
      refuse(http::status::method_not_allowed, "only GET is served");
    } else if (!pids) {
      refuse(http::status::not_found,
             fmt::format("ask for /rules/PID[,PID]..., {} rules at most", kInspectedRulesMax));
    } else {
      response_.set(http::field::content_type, "application/json");
      response_.body() = to_json(ask_(*pids));
    }
    response_.prepare_payload();
    http::async_write(stream_, response_,
                      [self = shared_from_this()](const error_code&, std::size_t) {
                        error_code ignored;
                        self->stream_.socket().shutdown(Tcp::socket::shutdown_send, ignored);
                      });
  }
  void refuse(http::status status, const std::string& why) {
    response_.result(status);
    response_.set(http::field::content_type, "text/plain");
    response_.body() = why + "\n";
  }

  boost::beast::tcp_stream stream_;
  const Ask& ask_;
  std::shared_ptr<std::size_t> open_;
  boost::beast::flat_buffer buffer_;
  http::request_parser<http::empty_body> parser_;
  http::response<http::string_body> response_;
};

Inspector::Inspector(asio::io_context& io, const std::string& endpoint, Ask ask)
    : acceptor_(io), pause_(io), ask_(std::move(ask)) {
  const auto at = net::parse_host_port(endpoint, 0);
  try {
    const Tcp::endpoint local(asio::ip::make_address(at.value().host), at->port);
    acceptor_.open(local.protocol());
    acceptor_.set_option(Tcp::acceptor::reuse_address(true));
    acceptor_.bind(local);
    acceptor_.listen();
  } catch (const std::exception& failure) {
    throw std::runtime_error("--inspect " + endpoint + ": " + failure.what());
  }
  accept();
}

void Inspector::accept() {
  acceptor_.async_accept([this](const error_code& error, Tcp::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (error) {  // no more descriptors
      pause_.expires_after(kInspectorPause);
      return pause_.async_wait([this](const error_code& ended) {
        if (!ended) accept();
      });
    }
    if (*open_ < kInspectorConnectionsMax) {
      std::make_shared<Connection>(std::move(socket), ask_, open_)->serve();
    }
    accept();
  });
}

}  // namespace simco::middlebox
