// The `echo` workload, which has no options of its own.
#pragma once

#include "loadgen/echo/echo_client.hpp"
#include "loadgen/workload.hpp"

namespace simco::loadgen {

/// Messages to simco-echo.
class EchoWorkload final : public Workload {
 public:
  std::unique_ptr<Client> make_client(const boost::asio::any_io_executor& executor,
                                      net::ReadBuffer& read_buffer,
                                      const ConnectionOptions& options,
                                      Client::Observer& observer) const override {
    return std::make_unique<EchoClient>(executor, read_buffer, options, observer);
  }
};

}  // namespace simco::loadgen
