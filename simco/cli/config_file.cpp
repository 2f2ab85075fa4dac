// Reads options from a TOML file into the declared options of a program. Complaints name the file
// and the line.
#include "simco/cli/config_file.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "simco/cli/command_line.hpp"
#include "simco/cli/text_file.hpp"

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

/// What is wrong with a line that is not TOML: mostly a text without quotes.
std::string syntax_fault(const std::string& text, std::size_t line, std::string_view otherwise) {
  std::istringstream lines(text);
  std::string words;
  for (std::size_t i = 0; i < line; ++i) std::getline(lines, words);
  static const std::regex bare(R"(^\s*([A-Za-z0-9-]+)\s*=\s*([A-Za-z/][^\s"'#,\]]*)\s*(#.*)?$)");
  std::smatch match;
  if (!std::regex_match(words, match, bare)) return std::string(otherwise);
  return fmt::format("text needs quotes: {} = \"{}\"", match[1].str(), match[2].str());
}

/// Options that are for the command line only.
bool is_for_command_line(const std::string& name) {
  static const std::set<std::string> names{"config",  "help",  "help-all",
                                           "version", "check", "check-user"};
  return names.contains(name);
}

std::string unknown_key(const std::string& name, const CLI::App& app, const ConfigReader& reader) {
  if (reader.misplaced) {
    if (const auto fault = reader.misplaced(name)) return *fault;
  }
  auto names = reader.own_keys;
  for (const auto* option : app.get_options()) names.push_back(option->get_single_name());
  return fmt::format("unknown option '{}'{}", name, did_you_mean(name, names));
}

/// Returns what is wrong with the option `name` of the file, if anything.
std::optional<std::string> key_fault(const std::string& name, const toml::node& node,
                                     const CLI::App& app, const ConfigReader& reader) {
  const auto* option = app.get_option_no_throw("--" + name);
  if (option == nullptr || is_for_command_line(name)) return unknown_key(name, app, reader);
  if (option->get_expected_max() == 0 && !node.is_boolean()) {
    return fmt::format("'{}' must be true or false, without quotes", name);
  }
  if (as_text(node)) return std::nullopt;
  return fmt::format("'{}' must be a string, number, true, false or a list of these", name);
}

}  // namespace

std::expected<ConfigFile, std::string> read_config_file(const std::string& path,
                                                        const CLI::App& app,
                                                        const ConfigReader& reader) {
  const auto text = read_text_file(path);
  if (!text) {
    return std::unexpected(
        fmt::format("cannot read configuration file {}: {}", path, text.error()));
  }
  auto parsed = toml::parse(*text, path);
  if (!parsed) {
    const auto line = parsed.error().source().begin.line;
    return std::unexpected(fmt::format("{}:{}: {}", path, line,
                                       syntax_fault(*text, line, parsed.error().description())));
  }
  ConfigFile result;
  for (const auto& [key, node] : parsed.table()) {
    const std::string name(key.str());
    if (std::ranges::find(reader.own_keys, name) != reader.own_keys.end()) continue;
    const auto line = node.source().begin.line;
    if (const auto fault = key_fault(name, node, app, reader)) {
      return std::unexpected(fmt::format("{}:{}: {}", path, line, *fault));
    }
    if (app.get_option("--" + name)->count() != 0) continue;  // the command line wins
    auto word = "--" + name + "=" + *as_text(node);
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
