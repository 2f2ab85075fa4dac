// toml++, included the same way everywhere.
#pragma once

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>
