// The table of backends. A further backend is a file next to this one and a row in table.cpp.
#pragma once

#include "middlebox/config/backend_type.hpp"

namespace simco::middlebox {

BackendTable backend_table();

}  // namespace simco::middlebox
