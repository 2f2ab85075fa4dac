// The `sip` workload: its options, and the words for its results.
#pragma once

#include "loadgen/sip/limits.hpp"
#include "loadgen/sip/sip_client.hpp"
#include "loadgen/workload.hpp"

namespace simco::loadgen {

/// INVITEs to a SIP server.
class SipWorkload final : public Workload {
 public:
  void declare(cli::Options& options) override;
  std::optional<std::string> fault(const net::TransportOptions& transport) override;
  std::optional<double> drain_s() const override;
  void write_parameters(nlohmann::ordered_json& parameters, std::uint64_t seed) const override;
  std::unique_ptr<Client> make_client(const boost::asio::any_io_executor& executor,
                                      net::ReadBuffer& read_buffer,
                                      const ConnectionOptions& options,
                                      Client::Observer& observer) const override;
  RefusalText describe(RefusalCode code) const override;

 private:
  SipResponse response() const;
  std::optional<std::string> size_fault(const char* option, std::uint64_t size,
                                        const net::TransportOptions& transport) const;

  std::string response_ = "180";
  std::uint64_t invite_size_ = 450;
  std::uint64_t large_every_ = 0;
  std::optional<std::uint64_t> large_size_;
  bool large_over_udp_ = false;
  std::chrono::milliseconds t1_ = sip::kT1;
  std::optional<double> drain_s_;
};

}  // namespace simco::loadgen
