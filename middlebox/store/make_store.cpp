#include "middlebox/store/make_store.hpp"

#include <array>
#include <utility>

#include "middlebox/store/redis_store.hpp"
#include "middlebox/store/sqlite_store.hpp"

namespace simco::store {
namespace {

using Made = std::expected<std::unique_ptr<Store>, std::string>;

/// A row of the table of stores: how to recognise what --state names, and how to make it.
struct StoreType {
  bool (*takes)(const std::string& where);  ///< the first row that does is the one
  Made (*make)(const std::string& where, Sync sync);
};

Made make_redis(const std::string& where, Sync) {
  const auto address = parse_redis_address(where);
  if (!address) return std::unexpected(address.error());
  return std::make_unique<RedisStore>(*address);
}

Made make_sqlite(const std::string& where, Sync sync) {
  return std::make_unique<SqliteStore>(where, sync);
}

bool is_url(const std::string& where) { return where.contains("://"); }
bool is_path(const std::string&) { return true; }

constexpr std::array kTypes = {
    StoreType{is_url, make_redis},
    StoreType{is_path, make_sqlite},
};

}  // namespace

Made make_store(const std::string& where, Sync sync) {
  for (const auto& type : kTypes) {
    if (type.takes(where)) return type.make(where, sync);
  }
  std::unreachable();
}

std::optional<std::string> file_of(const std::string& where) {
  if (where.empty() || is_url(where)) return std::nullopt;
  return where;
}

}  // namespace simco::store
