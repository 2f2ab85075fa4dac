#include "loadgen/per/per_workload.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "agent/credentials.hpp"
#include "loadgen/per/per_client.hpp"
#include "simco/cli/options.hpp"
#include "simco/session/limits.hpp"
#include "simco/wire/reply_code.hpp"

namespace simco::loadgen {

void PerWorkload::declare(cli::Options& options) {
  options.whole("--rules", rules_, "Rules to keep; older ones are deleted; 0: keep all");
  options.text("--name", name_, "Name of this agent, if the middlebox requires authentication");
  options.text("--secret-file", secret_file_, "File with this agent's secret");
}

std::optional<std::string> PerWorkload::fault(const net::TransportOptions&) {
  if (name_.empty() && secret_file_.empty()) return std::nullopt;
  auto credentials = agent::read_credentials(name_, secret_file_);
  if (!credentials) return credentials.error();
  credentials_ = std::move(*credentials);
  return std::nullopt;
}

void PerWorkload::write_parameters(nlohmann::ordered_json& parameters, std::uint64_t) const {
  parameters["rules"] = rules_;
}

std::unique_ptr<Client> PerWorkload::make_client(const boost::asio::any_io_executor& executor,
                                                 net::ReadBuffer& read_buffer,
                                                 const ConnectionOptions& options,
                                                 Client::Observer& observer) const {
  const std::uint64_t share = (rules_ + options.connections - 1) / options.connections;
  PerClient::Options own{options, share, credentials_};
  // As agents that open their sessions again.
  if (options.reconnect) own.connection.transport.silence_max = kAgentSilenceMax;
  return std::make_unique<PerClient>(executor, read_buffer, own, observer);
}

RefusalText PerWorkload::describe(RefusalCode code) const {
  return {fmt::format("0x03{:02X}", code.value),
          std::string(to_string(static_cast<NegativeReplyCode>(code.value)))};
}

std::string PerWorkload::remark(const Housekeeping& sum) const {
  return rules_ == 0 ? "" : fmt::format("{} rules deleted", sum.done);
}

}  // namespace simco::loadgen
