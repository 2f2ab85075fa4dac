#include "middlebox/config/backends/table.hpp"

#include <linux/capability.h>

#include <array>

#include "middlebox/backend/null_backend.hpp"
#include "middlebox/config/backends/nftables_type.hpp"
#include "simco/log/log.hpp"

namespace simco::middlebox {
namespace {

class NullType final : public BackendType {
 public:
  std::optional<std::string> check(bool, const Settings&) override { return std::nullopt; }
  std::vector<Finding> findings() const override {
    return {{false, "backend = \"null\" enforces no rules; \"nftables\" does"}};
  }
  std::unique_ptr<backend::Backend> make(boost::asio::io_context&, const Settings&) const override {
    log::warn("backend null: rules are not enforced; no traffic is filtered or translated");
    return std::make_unique<backend::NullBackend>();
  }
};

template <class Type>
std::unique_ptr<BackendType> make() {
  return std::make_unique<Type>();
}

}  // namespace

BackendTable backend_table() {
  static constexpr std::array kNetAdmin = {CAP_NET_ADMIN};
  static constexpr std::array kRows = {
      BackendRow{"null", make<NullType>},
      BackendRow{"nftables", make<NftablesType>, kNetAdmin, true},
  };
  return kRows;
}

}  // namespace simco::middlebox
