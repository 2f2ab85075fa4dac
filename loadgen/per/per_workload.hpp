// The `per` workload: its options, and the words for its results.
#pragma once

#include "loadgen/workload.hpp"
#include "simco/session/authentication.hpp"

namespace simco::loadgen {

/// Policy enable rule transactions with a middlebox.
class PerWorkload final : public Workload {
 public:
  void declare(CLI::App& app) override;
  std::optional<std::string> fault(const net::TransportOptions& transport) override;
  void write_parameters(nlohmann::ordered_json& parameters, std::uint64_t seed) const override;
  std::unique_ptr<Client> make_client(const boost::asio::any_io_executor& executor,
                                      net::ReadBuffer& read_buffer,
                                      const ConnectionOptions& options,
                                      Client::Observer& observer) const override;
  RefusalText describe(RefusalCode code) const override;
  std::string remark(const Housekeeping& sum) const override;

 private:
  std::uint64_t rules_ = 0;  ///< live rules to keep, over all connections; 0: no limit
  std::string name_;
  std::string secret_file_;
  std::optional<Credentials> credentials_;  ///< if the middlebox requires authentication
};

}  // namespace simco::loadgen
