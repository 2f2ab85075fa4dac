#include "middlebox/store/make_store.hpp"

#include "middlebox/store/redis_store.hpp"

namespace simco::store {

std::expected<std::unique_ptr<Store>, std::string> make_store(const std::string& where,
                                                              SqliteStore::Sync sync) {
  if (where.find("://") == std::string::npos) return std::make_unique<SqliteStore>(where, sync);
  const auto address = parse_redis_address(where);
  if (!address) return std::unexpected(address.error());
  return std::make_unique<RedisStore>(*address);
}

}  // namespace simco::store
