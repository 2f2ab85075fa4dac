// --backend nftables: its table, what of it outlives the process, and the fast path in front of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "middlebox/backend/fastpath/limits.hpp"
#include "middlebox/backend/nftables/options.hpp"
#include "middlebox/config/backend_type.hpp"

namespace simco::middlebox {

class NftablesType final : public BackendType {
 public:
  void declare(cli::Options& options) override;
  std::optional<std::string> check(bool chosen, const Settings& settings) override;
  std::vector<Finding> findings() const override;
  std::unique_ptr<backend::Backend> make(boost::asio::io_context& io,
                                         const Settings& settings) const override;
  /// What was asked for; complete once check() has been called.
  const backend::nftables::Options& options() const { return options_; }

 private:
  /// Returns a sentence if interfaces are missing, or --tracking or --fast-path does not go with
  /// the rest.
  std::optional<std::string> interfaces_fault(const Settings& settings) const;
  std::optional<std::string> tracking_fault(bool nat) const;
  std::optional<std::string> fast_path_fault(bool chosen) const;

  backend::nftables::Options options_;
  std::vector<std::string> own_ports_;  ///< warnings: guarded, though agents need them
  bool fast_path_ = false;
  std::uint32_t fast_path_entries_ = backend::fastpath::kEntriesDefault;
};

}  // namespace simco::middlebox
