// Checks of option values, with messages that say what is expected. To be included with CLI11.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace simco::cli {

/// A whole number from `least` to `most`.
CLI::Validator whole_number(std::uint64_t least, std::uint64_t most);
/// A number from `least` to `most`.
CLI::Validator number(double least, double most);
/// One of `values`, as they are.
CLI::Validator one_of(std::vector<std::string> values);
/// Either check passes.
CLI::Validator either(const CLI::Validator& first, const CLI::Validator& second);

}  // namespace simco::cli
