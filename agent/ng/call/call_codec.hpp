// Calls as JSON, for --state.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "agent/ng/call/call.hpp"

namespace simco::ng {

/// Returns the call as a document. Instants, which end with the process, become times of the
/// calendar; `now` is both.
nlohmann::json write_call(const Call& call, Moment now);

/// Reads a document of write_call(). Rules are due for their extension at once. Throws
/// nlohmann::json::exception or std::invalid_argument if it is anything else.
Call read_call(const nlohmann::json& document, Moment now);

}  // namespace simco::ng
