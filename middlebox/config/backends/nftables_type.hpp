// --backend nftables: its table, and what of it outlives the process.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "middlebox/backend/nftables/options.hpp"
#include "middlebox/config/backend_type.hpp"

namespace simco::middlebox {

class NftablesType : public BackendType {
 public:
  void declare(cli::Options& options) override;
  std::optional<std::string> check(bool chosen, const Settings& settings) override;
  std::vector<Finding> findings() const override;
  std::unique_ptr<backend::Backend> make(boost::asio::io_context& io,
                                         const Settings& settings) const override;
  /// What was asked for; complete once check() has been called.
  const backend::nftables::Options& options() const { return options_; }

 private:
  /// Returns a sentence if --tracking does not go with the rest.
  std::optional<std::string> tracking_fault(bool nat) const;

  backend::nftables::Options options_;
};

}  // namespace simco::middlebox
