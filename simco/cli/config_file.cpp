#include "simco/cli/config_file.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <sstream>

namespace simco::cli {
namespace {

/// Returns a TOML value in the form of the command line.
std::optional<std::string> as_text(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  if (const auto* list = node.as_array()) {
    std::string joined;
    for (const auto& item : *list) {
      const auto text = item.is_array() ? std::nullopt : as_text(item);
      if (!text) return std::nullopt;
      joined += (joined.empty() ? "" : ",") + *text;
    }
    return joined;
  }
  return std::nullopt;
}

}  // namespace

std::expected<ConfigFile, std::string> read_config_file(const std::string& path,
                                                        const CLI::App& app,
                                                        const ConfigReader& reader) {
  std::ifstream stream(path);
  std::stringstream text;
  if (!stream || !(text << stream.rdbuf())) {
    return std::unexpected("cannot read configuration file " + path);
  }
  auto parsed = toml::parse(text.str(), path);
  if (!parsed) {
    return std::unexpected(fmt::format("{}:{}: {}", path, parsed.error().source().begin.line,
                                       std::string(parsed.error().description())));
  }
  ConfigFile result;
  for (const auto& [key, node] : parsed.table()) {
    const std::string name(key.str());
    if (reader.is_own_key(name)) continue;
    const auto line = node.source().begin.line;
    const auto* option = app.get_option_no_throw("--" + name);
    if (option == nullptr || name == "config" || name == "help" || name == "version" ||
        name == "check") {
      return std::unexpected(fmt::format("{}:{}: unknown option '{}'", path, line, name));
    }
    const auto value = as_text(node);
    if (!value) {
      return std::unexpected(
          fmt::format("{}:{}: '{}' must be a string, number, true, false or a list of these", path,
                      line, name));
    }
    if (option->count() != 0) continue;  // the command line wins
    auto word = "--" + name + "=" + *value;
    if (const auto fault = reader.check(word)) {
      return std::unexpected(fmt::format("{}:{}: {}", path, line, *fault));
    }
    result.words.push_back(std::move(word));
  }
  result.table = std::move(parsed).table();
  return result;
}

std::map<std::string, std::string> effective_options(const CLI::App& app) {
  std::map<std::string, std::string> result;
  for (const auto* option : app.get_options()) {
    result[option->get_single_name()] = fmt::format("{}", fmt::join(option->results(), ","));
  }
  return result;
}

}  // namespace simco::cli
