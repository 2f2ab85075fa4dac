// Declares the options that the rows of the table of transports have, and those of TLS.
#include "simco/cli/transport_arguments.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/asio/ip/address.hpp>

#include "simco/cli/command_line.hpp"
#include "simco/cli/values.hpp"
#include "simco/net/transport_type.hpp"

namespace simco::cli {
namespace {

std::string joined(const std::vector<std::string>& names, const char* between) {
  std::string result;
  for (const auto& name : names) result += (result.empty() ? "" : between) + name;
  return result;
}

}  // namespace

void TransportArguments::declare(CLI::App& app, Role role, net::Need need) {
  role_ = role;
  app.option_defaults()->group(kConnectionGroup);
  transports_ = {net::transport_types().front().name};
  const auto names = net::transport_names(need);
  if (role == Role::kListener) {
    app.add_option(
           "--transport", transports_,
           "Transports to listen on, one or several, comma-separated: " + joined(names, ", "))
        ->delimiter(',')
        ->check(one_of(names))
        ->capture_default_str();
  } else {
    app.add_option("--transport", transports_.front(), "Transport to use: " + joined(names, " or "))
        ->check(one_of(names))
        ->capture_default_str();
    app.add_option("--bind", bind_,
                   "Local addresses, comma-separated" + net::several_addresses_note())
        ->delimiter(',');
  }
  for (const auto& type : net::transport_types()) {
    for (const auto& option : type.options()) {
      const bool shared = option.ability != nullptr;
      app.option_defaults()->group(shared ? kConnectionGroup : transport_group(type.name));
      declare_option(app, type, option);
    }
  }
  app.option_defaults()->group(kConnectionGroup);
}

void TransportArguments::declare_tls(CLI::App& app) {
  const bool agent = role_ == Role::kAgent;
  app.option_defaults()->group("TLS");
  app.add_option(
      "--tls-ca", tls_files_.authority,
      agent ? "Use TLS (over TCP, or as a part of QUIC) and trust this certificate authority "
              "(PEM file)"
            : "Accept TLS on TCP connections (QUIC always has it) and trust this "
              "certificate authority for agents (PEM file)");
  app.add_option("--tls-certificate", tls_files_.certificate,
                 agent ? "This agent's certificate (PEM file); its name is the agent's name"
                       : "This server's certificate (PEM file)");
  app.add_option("--tls-key", tls_files_.key, "The certificate's private key (PEM file)");
  if (agent) {
    app.add_option("--tls-name", tls_name_,
                   "Name that the server's certificate must have (default: the host in "
                   "--connect)");
  }
  app.option_defaults()->group(kConnectionGroup);
}

std::optional<std::string> TransportArguments::load_tls() {
  if (tls_files_.empty()) {
    if (!tls_name_.empty()) return "--tls-name requires --tls-ca FILE";
    return net::fault_in_tls(transports(), nullptr);
  }
  if (role_ == Role::kAgent && !net::type_of(transports().front()).tls) {
    return "--tls-ca, --tls-certificate and --tls-key require --transport " +
           net::transport_names(" or ", &net::TransportType::tls);
  }
  const auto side = role_ == Role::kAgent ? net::TlsSide::kAgent : net::TlsSide::kMiddlebox;
  auto loaded = net::TlsContext::load(side, tls_files_);
  if (!loaded) return "--tls-ca, --tls-certificate, --tls-key: " + loaded.error();
  tls_ = std::move(*loaded);
  return net::fault_in_tls(transports(), tls_.get());
}

void TransportArguments::declare_option(CLI::App& app, const net::TransportType& type,
                                        const net::TransportOption& option) {
  using Kind = net::TransportOption::Kind;
  const auto give = [this, &type, &option](std::uint32_t value) {
    given_.emplace_back(&type, &option);
    option.set(settings_, value);
    if (option.on_given != nullptr) option.on_given(settings_);
  };
  const std::string name = std::string("--") + option.name;
  CLI::Option* declared = nullptr;
  switch (option.kind) {
    case Kind::kNumber:
      declared = app.add_option_function<std::uint32_t>(name, give, option.help);
      if (option.or_zero) {
        declared->check(either(whole_number(option.min, option.max), whole_number(0, 0)));
      } else {
        declared->check(whole_number(option.min, option.max));
      }
      break;
    case Kind::kFlag: declared = app.add_option_function<bool>(name, give, option.help); break;
    case Kind::kChoice:
      declared = app.add_option_function<std::string>(
          name,
          [give, &option](const std::string& text) {
            give(static_cast<std::uint32_t>(std::ranges::find(option.choices, text) -
                                            option.choices.begin()));
          },
          option.help);
      declared->check(
          one_of(std::vector<std::string>(option.choices.begin(), option.choices.end())));
      break;
  }
  declared->default_str(option.text(settings_));
}

/// Reliable transports accept each other's options, so that a command can be switched between them;
/// one that is not reliable has nothing in common with them.
std::optional<std::string> TransportArguments::misplaced() const {
  const auto chosen = transports();
  for (const auto& [type, option] : given_) {
    const bool good = std::ranges::any_of(chosen, [&](net::Transport one) {
      return net::has_option(one, *type, *option) || net::type_of(one).reliable;
    });
    if (!good) {
      return std::string("--") + option->name + " requires --transport " +
             net::names_with(*type, *option);
    }
  }
  return std::nullopt;
}

std::optional<std::string> TransportArguments::remark() const {
  const auto chosen = transports();
  for (const auto& [type, option] : given_) {
    const bool used = std::ranges::any_of(
        chosen, [&](net::Transport one) { return net::has_option(one, *type, *option); });
    if (!used) {
      return std::string("--") + option->name + " has no effect: it is for --transport " +
             net::names_with(*type, *option);
    }
  }
  return std::nullopt;
}

std::optional<std::string> TransportArguments::fault() {
  if (auto fault = misplaced()) return fault;
  for (const auto& type : net::transport_types()) {
    if (auto fault = type.fault_in(settings_)) return fault;
  }
  for (const auto& text : bind_) {
    boost::system::error_code error;
    boost::asio::ip::make_address(text, error);
    if (error) return "--bind: expected an IP address, got '" + text + "'";
  }
  return load_tls();
}

std::vector<net::Transport> TransportArguments::transports() const {
  std::vector<net::Transport> result;
  for (const auto& text : transports_) {
    const auto one = net::find_transport(text, net::Need::kAny);  // checked already
    if (one && std::ranges::find(result, *one) == result.end()) result.push_back(*one);
  }
  return result;
}

net::TransportOptions TransportArguments::options() const {
  return {transports().front(), settings_, bind_, tls_, tls_name_};
}

}  // namespace simco::cli
