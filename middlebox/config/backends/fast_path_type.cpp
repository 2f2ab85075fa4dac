#include "middlebox/config/backends/fast_path_type.hpp"

#include <cstdint>
#include <utility>

#include "middlebox/backend/fastpath/fast_path.hpp"
#include "middlebox/config/backends/nftables_type.hpp"
#include "middlebox/config/options.hpp"
#include "simco/cli/options.hpp"

namespace simco::middlebox {
namespace {

namespace fastpath = backend::fastpath;

class AcceleratedNftablesType final : public NftablesType {
 public:
  void declare(cli::Options& options) override {
    NftablesType::declare(options);
    options.choice("--fast-path", enabled_,
                   "xdp (an XDP program on both interfaces forwards UDP and UDP-Lite of rules "
                   "between two endpoints, unseen by the site's nftables, tcpdump and connection "
                   "tracking) or none",
                   {{"none", false}, {"xdp", true}});
    options.whole("--fast-path-entries", entries_,
                  "Room of the fast path for each IP version: ports of rules, twice as many with a "
                  "NAT",
                  1, fastpath::kEntriesMax);
  }

  std::optional<std::string> check(bool chosen, const Settings& settings) override {
    if (auto fault = NftablesType::check(chosen, settings)) return fault;
    if (!enabled_) return std::nullopt;
    if (!chosen) return "--fast-path xdp requires --backend nftables";
    if (!fastpath::is_built_in())
      return "--fast-path xdp: this build has none, since clang, bpftool or libbpf was missing";
    if (!options().own_table)
      return "--fast-path xdp requires --table-mode own: the site's chains would not see its "
             "packets";
    return std::nullopt;
  }

  std::vector<Finding> findings() const override {
    auto result = NftablesType::findings();
    if (!enabled_) return result;
    if (const auto why = fastpath::obstacle(options().internal_if, options().external_if))
      result.push_back({false, "the fast path would be off: " + *why});
    return result;
  }

  std::unique_ptr<backend::Backend> make(boost::asio::io_context& io,
                                         const Settings& settings) const override {
    auto backend = NftablesType::make(io, settings);
    if (!enabled_ || settings.remove_rules) return backend;
    return fastpath::accelerate(
        io, std::move(backend),
        {options().internal_if, options().external_if, entries_, options().now});
  }

 private:
  bool enabled_ = false;
  std::uint32_t entries_ = fastpath::kEntriesDefault;
};

}  // namespace

std::unique_ptr<BackendType> make_nftables_with_fast_path() {
  return std::make_unique<AcceleratedNftablesType>();
}

}  // namespace simco::middlebox
