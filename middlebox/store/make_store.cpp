#include "middlebox/store/store.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "middlebox/store/redis_store.hpp"
#include "middlebox/store/sqlite_store.hpp"
#include "simco/library/optional.hpp"

namespace simco::store {
namespace {

using Made = std::expected<std::unique_ptr<Store>, std::string>;

/// A row of the table of stores.
struct StoreType {
  std::string_view scheme;  ///< prefix of its values of --state; empty: a path
  const char* form;         ///< form of such a value, for `--help`
  Made (*make)(const std::string& where, Sync sync);
  library::Load load;  ///< of its library, if it has one
};

Made make_redis(const std::string& where, Sync) {
  const auto address = parse_redis_address(where);
  if (!address) return std::unexpected(address.error());
  return std::make_unique<RedisStore>(*address);
}

Made make_sqlite(const std::string& where, Sync sync) {
  return std::make_unique<SqliteStore>(where, sync);
}

const std::array kTypes = {
    StoreType{"", "a file", make_sqlite, nullptr},
    StoreType{"redis://",
              "a Redis server as redis://[USER[:PASSWORD]@]HOST[:PORT][/DB][?name=NAME&replicas=N]",
              make_redis, simco_load_hiredis},
};

/// Returns the row for `where`, or null.
const StoreType* type_of(const std::string& where) {
  const auto end = where.find("://");
  const auto scheme = end == std::string::npos ? "" : where.substr(0, end + 3);
  const auto* const type = std::ranges::find(kTypes, scheme, &StoreType::scheme);
  return type == kTypes.end() ? nullptr : type;
}

}  // namespace

Made make_store(const std::string& where, Sync sync) {
  const auto* type = type_of(where);
  if (type == nullptr) return std::unexpected("expected " + store_forms());
  return type->make(where, sync);
}

std::optional<std::string> fault_in_use(const std::string& where) {
  const auto* type = type_of(where);
  const char* fault = type == nullptr ? nullptr : library::fault_in(type->load);
  return fault == nullptr ? std::nullopt : std::optional<std::string>(fault);
}

std::string store_forms() {
  std::string result;
  for (const auto& type : kTypes)
    result += (result.empty() ? "" : ", or ") + std::string(type.form);
  return result;
}

std::optional<std::string> file_of(const std::string& where) {
  if (where.empty() || where.contains("://")) return std::nullopt;
  return where;
}

}  // namespace simco::store
