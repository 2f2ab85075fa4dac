// toml++, included the same way everywhere.
#pragma once

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include <string>

namespace simco::cli {

/// Returns a complaint about a value of the file `path`, with the value's line.
inline std::string at_line(const std::string& path, const toml::node& node,
                           const std::string& what) {
  return path + ":" + std::to_string(node.source().begin.line) + ": " + what;
}

}  // namespace simco::cli
