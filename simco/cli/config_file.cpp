// Reads options from a TOML file into the options of a program. Complaints name the file
// and the line.
#include "simco/cli/config_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "simco/cli/command_line.hpp"
#include "simco/cli/options.hpp"
#include "simco/cli/text_file.hpp"

namespace simco::cli {
namespace {

/// Returns a TOML value in the form of the command line: a word, or those of a list.
std::optional<Words> words_of(const toml::node& node) {
  if (const auto* text = node.as_string()) return Words{text->get()};
  if (const auto* number = node.as_integer()) return Words{std::to_string(number->get())};
  if (const auto* number = node.as_floating_point()) return Words{fmt::format("{}", number->get())};
  if (const auto* flag = node.as_boolean()) return Words{flag->get() ? "true" : "false"};
  const auto* list = node.as_array();
  if (list == nullptr) return std::nullopt;
  Words result;
  for (const auto& item : *list) {
    const auto word = item.is_array() ? std::nullopt : words_of(item);
    if (!word) return std::nullopt;
    result.push_back(word->front());
  }
  return result;
}

/// What is wrong with a line that is not TOML: mostly a text without quotes.
std::string syntax_fault(const std::string& text, std::size_t line, std::string_view otherwise) {
  std::istringstream lines(text);
  std::string words;
  for (std::size_t i = 0; i < line; ++i) std::getline(lines, words);
  words = words.substr(0, words.find('#'));
  std::replace(words.begin(), words.end(), '=', ' ');
  std::istringstream parts(words);
  std::string key, value, more;
  const bool bare =
      parts >> key >> value && !(parts >> more) &&
      (std::isalpha(static_cast<unsigned char>(value.front())) || value.front() == '/') &&
      value.find_first_of("\"',]") == std::string::npos;
  if (!bare) return std::string(otherwise);
  return fmt::format("text needs quotes: {} = \"{}\"", key, value);
}

std::string unknown_key(const std::string& name, const Options& options,
                        const ConfigReader& reader) {
  if (reader.misplaced) {
    if (const auto fault = reader.misplaced(name)) return *fault;
  }
  auto names = reader.own_keys;
  for (const auto& row : options.rows()) {
    if (!row.only_on_command_line) names.push_back(row.name.substr(2));
  }
  return fmt::format("unknown option '{}'{}", name, did_you_mean(name, names));
}

/// Sets the option `name`, unless the command line has. Returns a complaint, or nothing.
Fault take(const std::string& name, const toml::node& node, Options& options,
           const ConfigReader& reader) {
  auto* row = options.find("--" + name);
  if (row == nullptr || row->only_on_command_line) return unknown_key(name, options, reader);
  if (row->kind == Option::Kind::kFlag && !node.is_boolean()) {
    return fmt::format("'{}' must be true or false, without quotes", name);
  }
  const auto words = words_of(node);
  if (!words) {
    return fmt::format("'{}' must be a string, number, true, false or a list of these", name);
  }
  if (!row->given.empty()) return std::nullopt;
  if (words->empty() || *words == Words{""}) return row->name + ": the value is missing";
  const auto fault = row->take(*words);
  return fault ? Fault(row->name + ": " + *fault) : std::nullopt;
}

}  // namespace

std::expected<toml::table, std::string> parse_config_file(const std::string& path) {
  const auto text = read_text_file(path);
  if (!text) {
    return std::unexpected(
        fmt::format("cannot read configuration file {}: {}", path, text.error()));
  }
  auto parsed = toml::parse(*text, path);
  if (parsed) return std::move(parsed).table();
  const auto line = parsed.error().source().begin.line;
  return std::unexpected(fmt::format("{}:{}: {}", path, line,
                                     syntax_fault(*text, line, parsed.error().description())));
}

Fault take_table(const toml::table& table, const std::string& path, Options& options,
                 const ConfigReader& reader) {
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    if (std::ranges::find(reader.own_keys, name) != reader.own_keys.end()) continue;
    const auto where = fmt::format("{}:{}", path, node.source().begin.line);
    auto* row = options.find("--" + name);
    if (row != nullptr && row->given.empty()) row->source = where;
    if (const auto fault = take(name, node, options, reader)) return where + ": " + *fault;
  }
  return std::nullopt;
}

std::expected<toml::table, std::string> read_config_file(const std::string& path, Options& options,
                                                         const ConfigReader& reader) {
  auto table = parse_config_file(path);
  if (!table) return table;
  if (const auto fault = take_table(*table, path, options, reader)) return std::unexpected(*fault);
  return table;
}

}  // namespace simco::cli
