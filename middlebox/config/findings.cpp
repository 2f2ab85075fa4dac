// Each function checks a part of the settings and adds its findings.
#include "middlebox/config/options.hpp"

#include <fmt/format.h>
#include <net/if.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/udp.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <set>

#include "middlebox/store/store.hpp"
#include "simco/net/endpoint.hpp"
#include "simco/net/transport_type.hpp"

namespace simco::middlebox {
namespace {

class Examination {
 public:
  explicit Examination(const Settings& settings) : settings_(settings) {
    listeners_.push_back({settings.server.listen, settings.server.require});
    for (const auto& further : settings.server.further_listeners) listeners_.push_back(further);
  }

  std::vector<Finding> run() {
    examine_listeners();
    examine_endpoints();
    examine_agents();
    examine_limits();
    examine_files();
    examine_options();
    examine_interfaces();
    std::ranges::move(settings_.backend->findings(), std::back_inserter(findings_));
    return std::move(findings_);
  }

 private:
  void error(std::string text) { findings_.push_back({true, std::move(text)}); }
  void warn(std::string text) { findings_.push_back({false, std::move(text)}); }
  bool given(const std::string& option) const {
    const auto found = settings_.options.find(option);
    return found != settings_.options.end() && !found->second.empty();
  }
  static bool has_tls(const ListenerSettings& listener) {
    return listener.listen.tls && std::ranges::any_of(listener.listen.transports, [](auto one) {
             return net::type_of(one).tls;
           });
  }
  bool any_tls() const { return std::ranges::any_of(listeners_, has_tls); }

  void examine_listeners() {
    const auto& directory = settings_.server.directory;
    for (const auto& listener : listeners_) {
      const bool certificates = has_tls(listener) && directory.has_named();
      if (listener.require == Require::kSa && !directory.has_secrets() && !certificates) {
        error("require = \"sa\": no [[agent]] has a secret, so that no session can be opened");
      }
    }
    if (settings_.server.listen.tls && !any_tls()) {
      error(
          "tls-certificate, tls-key and tls-ca have no effect: no listener has a transport that "
          "can use TLS");
    }
    for (const auto& listener : listeners_) {
      for (const auto& address : listener.listen.addresses) examine_address(address);
    }
  }

  void examine_address(const std::string& text) {
    const auto address = boost::asio::ip::make_address(text);
    if (address.is_unspecified() || address.is_loopback()) return;
    const boost::asio::ip::udp::endpoint any_port(address, 0);
    boost::asio::io_context io;
    boost::asio::ip::udp::socket probe(io);
    boost::system::error_code error;
    probe.open(any_port.protocol(), error);
    if (!error) probe.bind(any_port, error);
    if (error || address.is_multicast()) {
      warn("listen: " + text + " is not an address of this host now");
    }
  }

  void examine_interfaces() {
    for (const auto& [option, name] : {std::pair("internal-if", &settings_.internal_if),
                                       std::pair("external-if", &settings_.external_if)}) {
      if (name->empty() || ::if_nametoindex(name->c_str()) != 0) continue;
      error(std::string(option) + ": there is no interface '" + *name +
            "' (`ip link` lists those there are)");
    }
  }

  void examine_endpoints() {
    struct Endpoint {
      std::string transport;
      boost::asio::ip::address address;
      std::uint16_t port;
    };
    std::vector<Endpoint> taken;
    const auto take = [&](const Endpoint& one, const std::string& who) {
      const bool collides =
          one.port != 0 && std::ranges::any_of(taken, [&](const auto& other) {
            const bool same = one.address == other.address || one.address.is_unspecified() ||
                              other.address.is_unspecified();
            return same && one.transport == other.transport && one.port == other.port &&
                   one.address.is_v4() == other.address.is_v4();
          });
      if (collides) {
        error(fmt::format("{}: {} {} is used twice", who, one.transport,
                          net::endpoint_text(one.address.to_string(), one.port)));
      }
      taken.push_back(one);
    };
    for (const auto& [listen, require] : listeners_) {
      for (const auto transport : listen.transports) {
        for (const auto& address : listen.addresses) {
          take({net::type_of(transport).name, boost::asio::ip::make_address(address), listen.port},
               "listen");
        }
      }
    }
    // HTTP goes over the transport that TLS goes over.
    const auto http = std::ranges::find_if(net::transport_types(), &net::TransportType::tls);
    for (const auto& [option, endpoint] :
         {std::pair("metrics", &settings_.metrics), std::pair("inspect", &settings_.inspect)}) {
      if (const auto at = net::parse_host_port(*endpoint, 0); at) {
        take({http->name, boost::asio::ip::make_address(at->host), at->port}, option);
      }
    }
  }

  void examine_agents() {
    std::set<std::string> names;
    bool named = false;
    settings_.server.directory.for_each([&](const policy::AgentPolicy& agent) {
      names.insert(agent.name);
      named |= !agent.name.starts_with("anonymous");
    });
    settings_.server.directory.for_each([&](const policy::AgentPolicy& agent) {
      const auto about = "agent '" + agent.name + "': ";
      if (agent.has_certificate && agent.secret.empty() && !any_tls()) {
        error(about +
              "certificate = true, but no listener has TLS, so that it cannot open a "
              "session");
      }
      if (agent.lifetime_max_s == 0) warn(about + "max-lifetime is 0, so that it gets no rule");
      if (agent.rules_max == 0) warn(about + "max-rules is 0, so that it gets no rule");
      if (agent.sessions_max == 0) warn(about + "max-sessions is 0, so that it cannot open any");
      if (agent.transactions.none()) warn(about + "without transactions, it cannot open a session");
      for (const auto* owners : {&agent.may_see, &agent.may_change}) {
        for (const auto& owner : *owners) {
          if (owner == "*" || owner.starts_with("anonymous") || names.contains(owner)) continue;
          warn(about + "'" + (owners == &agent.may_see ? "see" : "change") + "' names '" + owner +
               "', and there is no such agent");
        }
      }
    });
    const bool all_prove = std::ranges::none_of(
        listeners_, [](const auto& one) { return one.require == Require::kNone; });
    if (named && settings_.server.directory.accepts_anonymous() && all_prove) {
      warn("agents named anonymous have no effect: every listener requires authentication or TLS");
    }
  }

  void examine_limits() {
    const auto& server = settings_.server;
    if (server.sessions_max == 0) error("max-sessions is 0, so that no session can be opened");
    if (server.rules_max == 0) error("max-rules is 0, so that no rule can be made");
    if (server.elements_max == 0) error("max-elements is 0, so that no rule can be made");
  }

  void examine_files() {
    for (const auto& path : settings_.secret_files) {
      struct stat file{};
      if (::stat(path.c_str(), &file) != 0 || (file.st_mode & S_IROTH) == 0) continue;
      warn(path + " has a secret and can be read by any user: chmod o= " + path);
    }
    const auto state = store::file_of(settings_.state);
    if (!state) return;
    auto folder = std::filesystem::path(*state).parent_path();
    if (folder.empty()) folder = ".";
    const bool there = ::access(state->c_str(), F_OK) == 0;
    const std::string wanted = there ? *state : folder.string();
    const int rights = there ? R_OK | W_OK : W_OK | X_OK;
    if (::access(wanted.c_str(), rights) != 0) {
      error(fmt::format("state: {} cannot be written: {}", wanted, std::strerror(errno)));
    }
  }

  void examine_options() {
    const auto& nat = settings_.server.nat;
    if (nat.mode == policy::Mode::kFirewall) {
      for (const char* option : {"ports", "address-pooling"}) {
        if (given(option)) warn(std::string(option) + " has no effect without mode = \"nat\"");
      }
    }
    if (given("state-sync") && settings_.state.empty()) {
      warn("state-sync has no effect without state");
    }
    if (given("inspect") && !given("counters")) {
      warn("inspect has nothing to tell without counters = true");
    }
    for (const auto& type : net::transport_types()) {
      for (const auto& option : type.options()) examine_option(type, option);
    }
  }

  void examine_option(const net::TransportType& owner, const net::TransportOption& option) {
    const bool used = std::ranges::any_of(listeners_, [&](const auto& one) {
      return std::ranges::any_of(one.listen.transports, [&](auto transport) {
        return net::has_option(transport, owner, option);
      });
    });
    if (given(option.name) && !used) {
      warn(std::string(option.name) + " has no effect: it is for a transport that no listener has");
    }
  }

  const Settings& settings_;
  std::vector<ListenerSettings> listeners_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> examine(const Settings& settings) { return Examination(settings).run(); }

}  // namespace simco::middlebox
