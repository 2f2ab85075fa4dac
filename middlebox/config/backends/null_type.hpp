// --backend null.
#pragma once

#include <memory>

#include "middlebox/config/backend_type.hpp"

namespace simco::middlebox {

std::unique_ptr<BackendType> make_null_type();

}  // namespace simco::middlebox
