// Creates the store that --state names.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>

#include "middlebox/store/store.hpp"

namespace simco::store {

/// Returns the store at `where`, of the kind that the table of stores has for it. Returns an error
/// message if `where` is invalid. Nothing is opened yet.
std::expected<std::unique_ptr<Store>, std::string> make_store(const std::string& where, Sync sync);
/// Returns the forms of `where`, for `--help`.
std::string store_forms();

/// Returns the file that `where` names; nullopt if it is a server.
std::optional<std::string> file_of(const std::string& where);

}  // namespace simco::store
