// Declares the options that the rows of the table of transports have, and those of TLS.
#include "simco/cli/transport_arguments.hpp"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <cctype>

#include "simco/net/endpoint.hpp"
#include "simco/net/transport_type.hpp"

namespace simco::cli {
namespace {

/// The heading of the options that tune a transport: its name in capitals.
std::string tuning_group(std::string_view transport) {
  std::string name(transport);
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return name;
}

std::expected<std::string, std::string> read_address(const std::string& text) {
  boost::system::error_code error;
  boost::asio::ip::make_address(text, error);
  if (error) return std::unexpected("expected an IP address, got '" + text + "'");
  return text;
}

}  // namespace

void TransportArguments::declare(Options& options, net::Need need) {
  options.group(kConnectionGroup);
  const auto names = net::transport_names(need);
  options.choice("--transport", transports_.front(), "Transport to use: " + joined(names, " or "),
                 names);
  options.parsed_each("--bind", bind_,
                      "Local addresses, comma-separated" + net::several_addresses_note(),
                      read_address);
  declare_rows(options);
}

void TransportArguments::declare_listener(Options& options, net::ListenOptions& listen,
                                          net::Need need) {
  listen_ = &listen;
  options.group(kConnectionGroup);
  const auto names = net::transport_names(need);
  options.choices(
      "--transport", transports_,
      "Transports to listen on, one or several, comma-separated: " + joined(names, ", "), names);
  options
      .parsed_each("--listen", listen.addresses,
                   "Addresses to listen on, comma-separated" + net::several_addresses_note(),
                   net::parse_listen_address)
      .default_text = joined(listen.addresses, ",");
  options.whole("--port", listen.port, "Port to listen on; 0: any free port");
  declare_rows(options);
  declare_tls(options);
}

void TransportArguments::declare_rows(Options& options) {
  for (const auto& type : net::transport_types()) {
    for (const auto& row : type.options()) declare_row(options, type, row);
  }
  options.group(kConnectionGroup);
}

void TransportArguments::declare_tls(Options& options) {
  const bool agent = listen_ == nullptr;
  options.group("TLS");
  options.text(
      "--tls-ca", tls_files_.authority,
      agent ? "Use TLS (over TCP, or as a part of QUIC) and trust this certificate authority "
              "(PEM file)"
            : "Accept TLS on TCP connections (QUIC always has it) and trust this "
              "certificate authority for agents (PEM file)");
  options.text("--tls-certificate", tls_files_.certificate,
               agent ? "This agent's certificate (PEM file); its name is the agent's name"
                     : "This server's certificate (PEM file)");
  options.text("--tls-key", tls_files_.key, "The certificate's private key (PEM file)");
  if (agent) {
    options.text("--tls-name", tls_name_,
                 "Name that the server's certificate must have (default: the host in --connect)");
  }
  options.group(kConnectionGroup);
}

std::optional<std::string> TransportArguments::load_tls() {
  if (tls_files_.empty()) {
    if (!tls_name_.empty()) return "--tls-name requires --tls-ca FILE";
    return net::fault_in_use(transports(), settings_, nullptr);
  }
  const bool agent = listen_ == nullptr;
  if (agent && !net::type_of(transports().front()).tls) {
    return "--tls-ca, --tls-certificate and --tls-key require --transport " +
           net::transport_names(" or ", &net::TransportType::tls);
  }
  const auto side = agent ? net::TlsSide::kAgent : net::TlsSide::kMiddlebox;
  auto loaded = net::TlsContext::load(side, tls_files_);
  if (!loaded) return "--tls-ca, --tls-certificate, --tls-key: " + loaded.error();
  tls_ = std::move(*loaded);
  return net::fault_in_use(transports(), settings_, tls_.get());
}

void TransportArguments::declare_row(Options& options, const net::TransportType& type,
                                     const net::TransportOption& row) {
  using Kind = net::TransportOption::Kind;
  const bool tunes = row.ability == nullptr;
  const Words choices = row.kind == Kind::kFlag ? Words{"true", "false"}
                                                : Words(row.choices.begin(), row.choices.end());
  const auto read =
      [&row, choices](const std::string& text) -> std::expected<std::uint64_t, std::string> {
    if (row.kind == Kind::kFlag && text == "true") return 1;
    if (row.kind == Kind::kFlag && text == "false") return 0;
    if (row.kind != Kind::kNumber) return read_choice(text, choices);
    if (row.or_zero && text == "0") return 0;
    return read_whole(text, row.min, row.max);
  };
  options.group(tunes ? tuning_group(type.name) : kConnectionGroup);
  options.add({.name = std::string("--") + row.name,
               .help = row.help,
               .type = row.kind == Kind::kNumber ? "NUMBER" : joined(choices, "|"),
               .default_text = row.text(settings_),
               .only_in_help_all = tunes,
               .set = [this, &type, &row, read](const Words& words) -> Fault {
                 const auto value = read(words.front());
                 if (!value) return value.error();
                 given_.emplace_back(&type, &row);
                 row.set(settings_, static_cast<std::uint32_t>(*value));
                 if (row.on_given != nullptr) row.on_given(settings_);
                 return std::nullopt;
               }});
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
  if (auto fault = load_tls()) return fault;
  if (listen_ != nullptr) {
    listen_->transports = transports();
    listen_->settings = settings_;
    listen_->tls = tls_;
  }
  return std::nullopt;
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
