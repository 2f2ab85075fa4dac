#include "agent/agent_arguments.hpp"

#include <CLI/CLI.hpp>
#include <chrono>

#include "agent/credentials.hpp"
#include "simco/cli/command_line.hpp"
#include "simco/cli/values.hpp"
#include "simco/wire/limits.hpp"

namespace simco::agent {

void AgentArguments::declare(CLI::App& app) {
  app.option_defaults()->group(cli::kConnectionGroup);
  app.add_option("--" + connect_name_, connect_, "Middlebox to connect to: HOST[,HOST...][:PORT]")
      ->capture_default_str();
  app.add_option("--timeout", timeout_s_, "Maximum time to wait for a reply, seconds")
      ->check(cli::number(0.01, 86'400.0))
      ->capture_default_str();
  transport_.declare(app, cli::Role::kAgent);
  app.option_defaults()->group("Authentication");
  app.add_option("--name", name_, "Name of this agent, if the middlebox requires authentication");
  app.add_option("--secret-file", secret_file_, "File with this agent's secret");
  app.add_option("--middlebox-secret-file", middlebox_secret_file_,
                 "File with the middlebox's secret; the middlebox must then authenticate, too");
  transport_.declare_tls(app);
}

std::optional<std::string> AgentArguments::read(net::HostPort& target, AgentOptions& options) {
  const auto parsed = net::parse_host_port(connect_, kSimcoPort);
  if (!parsed) return "--" + connect_name_ + ": " + parsed.error();
  target = *parsed;
  if (auto fault = transport_.fault()) return fault;
  options.transport = transport_.options();
  options.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(timeout_s_ * 1000));
  if (!name_.empty() || !secret_file_.empty()) {
    auto credentials = read_credentials(name_, secret_file_);
    if (!credentials) return credentials.error();
    options.credentials = std::move(*credentials);
  }
  if (!middlebox_secret_file_.empty()) {
    auto secret = read_secret_file(middlebox_secret_file_);
    if (!secret) return secret.error();
    options.middlebox_secret = std::move(*secret);
  }
  return std::nullopt;
}

}  // namespace simco::agent
