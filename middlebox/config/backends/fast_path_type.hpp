// --backend nftables with the fast path in front of it, if --fast-path says so.
#pragma once

#include <memory>

#include "middlebox/config/backend_type.hpp"

namespace simco::middlebox {

std::unique_ptr<BackendType> make_nftables_with_fast_path();

}  // namespace simco::middlebox
