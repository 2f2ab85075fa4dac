// The `echo` workload: 64-octet messages to simco-echo, to measure the transport alone.
#pragma once

#include "loadgen/workload.hpp"

namespace simco::loadgen {

/// Messages to simco-echo. Has no options of its own.
class EchoWorkload final : public Workload {
 public:
  std::unique_ptr<Client> make_client(const boost::asio::any_io_executor& executor,
                                      net::ReadBuffer& read_buffer,
                                      const ConnectionOptions& options,
                                      Client::Observer& observer) const override;
};

}  // namespace simco::loadgen
