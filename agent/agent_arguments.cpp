#include "agent/agent_arguments.hpp"

#include "agent/credentials.hpp"
#include "simco/cli/options.hpp"
#include "simco/wire/limits.hpp"

namespace simco::agent {

void AgentArguments::declare(cli::Options& options) {
  options.group(cli::kConnectionGroup);
  for (const char* name : {"--port", "--host", "--server"}) {
    options.instead_of(name, "give " + connect_name_ + " HOST:PORT");
  }
  options.text(connect_name_, connect_, "Middlebox to connect to: HOST[,HOST...][:PORT]");
  options.seconds("--timeout", timeout_, "Maximum time to wait for a reply, seconds", 0.01,
                  86'400.0);
  transport_.declare(options);
  options.group("Authentication");
  options.text("--name", name_, "Name of this agent, if the middlebox requires authentication");
  options.text("--secret-file", secret_file_, "File with this agent's secret");
  options.text("--middlebox-secret-file", middlebox_secret_file_,
               "File with the middlebox's secret; the middlebox must then authenticate, too");
  transport_.declare_tls(options);
}

std::optional<std::string> AgentArguments::read(net::HostPort& target, AgentOptions& options) {
  const auto parsed = net::parse_host_port(connect_, kSimcoPort);
  if (!parsed) return connect_name_ + ": " + parsed.error();
  target = *parsed;
  if (auto fault = transport_.fault()) return fault;
  options.transport = transport_.options();
  options.timeout = timeout_;
  if (!name_.empty() || !secret_file_.empty()) {
    auto credentials = read_credentials(name_, secret_file_);
    if (!credentials) return credentials.error();
    options.credentials = std::move(*credentials);
  }
  if (!middlebox_secret_file_.empty()) {
    auto secret = read_secret_file(middlebox_secret_file_);
    if (!secret) return "--middlebox-secret-file: " + secret.error();
    options.middlebox_secret = std::move(*secret);
  }
  return std::nullopt;
}

}  // namespace simco::agent
