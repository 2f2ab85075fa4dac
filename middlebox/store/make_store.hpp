// Which store a --state stands for.
#pragma once

#include <expected>
#include <memory>
#include <string>

#include "middlebox/store/sqlite_store.hpp"
#include "middlebox/store/store.hpp"

namespace simco::store {

/// The store at `where`: a file for SQLite, or redis://... (see RedisAddress). Or a sentence that
/// says why it is none. Nothing is opened yet.
std::expected<std::unique_ptr<Store>, std::string> make_store(const std::string& where,
                                                              SqliteStore::Sync sync);

}  // namespace simco::store
