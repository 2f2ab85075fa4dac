// The generator's view of a workload: clients that send its transactions, options that only it has,
// and words for its results. A workload is a folder here and a row in workload_type.cpp.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "loadgen/client.hpp"
#include "simco/net/message_channel.hpp"

namespace simco::cli {
class Options;
}

namespace simco::loadgen {

/// A refusal code in words.
struct RefusalText {
  std::string name;  ///< short, as in the protocol's specification: "0x0342"
  std::string text;  ///< a phrase for a report
};

/// A workload with the values of its options.
class Workload {
 public:
  Workload() = default;
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;
  virtual ~Workload() = default;

  /// Declares the options that only this workload has. Their values are kept here, so this must
  /// exist as long as `options`.
  virtual void declare(cli::Options& options);
  /// Checks the options after parsing, also against the transport, and reads the files that they
  /// name. Returns an error message, or nullopt. Called for the workload that was chosen; options
  /// of others are refused.
  virtual std::optional<std::string> fault(const net::TransportOptions& transport);
  /// If its transactions have no replies and end when they are handed to the transport: the time
  /// for messages under way after the last was due, seconds. Otherwise nullopt.
  virtual std::optional<double> drain_s() const { return std::nullopt; }
  /// Adds the options, and the part of the run's `seed` in messages, to the `parameters` of the
  /// JSON document.
  virtual void write_parameters(nlohmann::ordered_json& parameters, std::uint64_t seed) const;

  /// Returns a client that is not open yet. `read_buffer` and `observer` must outlive it.
  virtual std::unique_ptr<Client> make_client(const boost::asio::any_io_executor& executor,
                                              net::ReadBuffer& read_buffer,
                                              const ConnectionOptions& options,
                                              Client::Observer& observer) const = 0;

  /// Returns the meaning of a code that a client has given to Observer::on_ended().
  virtual RefusalText describe(RefusalCode code) const;
  /// Returns the table's text about the clients' housekeeping, such as "3 rules deleted", or an
  /// empty text.
  virtual std::string remark(const Housekeeping& sum) const;
};

}  // namespace simco::loadgen
