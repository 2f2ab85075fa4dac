#include "middlebox/config/backends/null_type.hpp"

#include "middlebox/backend/null_backend.hpp"
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

}  // namespace

std::unique_ptr<BackendType> make_null_type() { return std::make_unique<NullType>(); }

}  // namespace simco::middlebox
