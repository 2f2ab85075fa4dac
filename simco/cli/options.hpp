// The options of a program as a table of rows. The command line, the configuration file, --help and
// a reload all walk these rows.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace simco::cli {

/// A sentence about a wrong value, or nothing.
using Fault = std::optional<std::string>;
using Words = std::vector<std::string>;

/// A row of the table.
struct Option {
  enum class Kind : std::uint8_t { kValue, kFlag, kList };

  Kind kind = Kind::kValue;
  std::string name;        ///< "--port"; of an argument that is known by its position, "PID"
  std::string group = {};  ///< its heading in the help
  std::string help;
  std::string type = "TEXT";      ///< the value in the help: "NUMBER", or the choices as "in|out"
  std::string default_text = {};  ///< the default in the help; empty: none
  bool required = false;
  bool only_in_help_all = false;      ///< --help does not show it
  bool only_on_command_line = false;  ///< a configuration file must not have it
  Words excludes = {};                ///< options that must not be given with it
  /// Sets the value: one word, or several of a list. Returns a complaint, or nothing.
  std::function<Fault(const Words&)> set = {};
  Words given = {};         ///< the words that set it
  std::string source = {};  ///< "FILE:LINE" or the variable that set it; else empty

  /// Sets the value; a list may have commas between its parts. The fault, if there is one, is a
  /// phrase without the option's name.
  Fault take(const Words& words);
};

/// The table: rows with references to the variables that they set, which have to exist as long.
/// A variable's earlier value is the default.
class Options {
 public:
  /// `program` is its name, `about` and `examples` are for the help.
  Options(std::string program, std::string about, std::string examples = {})
      : program_(std::move(program)), about_(std::move(about)), examples_(std::move(examples)) {}

  /// Begins a group of rows, with a heading in the help.
  void group(std::string heading) { group_ = std::move(heading); }
  /// Adds a command with options of its own.
  Options& command(std::string name, std::string about, std::string examples = {});

  // Each adds a row.
  Option& text(const std::string& name, std::string& value, const std::string& help);
  Option& flag(const std::string& name, bool& value, const std::string& help);
  /// A text that is one of `choices`, or several of them.
  Option& choice(const std::string& name, std::string& value, const std::string& help,
                 const Words& choices);
  Option& choices(const std::string& name, Words& values, const std::string& help,
                  const Words& choices);
  /// A value that goes by a name.
  template <class Value>
  Option& choice(const std::string& name, Value& value, const std::string& help,
                 const std::vector<std::pair<std::string, Value>>& choices);
  /// A whole number: an integer, a std::optional of one or a std::chrono::duration in its unit.
  template <class Value>
  Option& whole(const std::string& name, Value& value, const std::string& help,
                std::uint64_t least = 0, std::uint64_t most = most_of<Value>());
  /// Any number; Value is double or a std::optional of it.
  template <class Value>
  Option& number(const std::string& name, Value& value, const std::string& help, double least,
                 double most);
  /// A time in seconds.
  Option& seconds(const std::string& name, std::chrono::milliseconds& value,
                  const std::string& help, double least, double most);
  /// A value that `read` makes of the text: it returns a std::expected, the error as a phrase.
  template <class Value, class Read>
  Option& parsed(const std::string& name, Value& value, const std::string& help, Read read);
  /// Several such values.
  template <class Value, class Read>
  Option& parsed_each(const std::string& name, std::vector<Value>& values, const std::string& help,
                      Read read);
  /// A value that `read` makes of several words.
  template <class Value, class Read>
  Option& parsed_list(const std::string& name, Value& value, const std::string& help, Read read);
  /// Any other row; it gets the current group.
  Option& add(Option row);

  const std::string& program() const { return program_; }
  const std::string& about() const { return about_; }
  const std::string& examples() const { return examples_; }
  const std::string& current_group() const { return group_; }
  std::deque<Option>& rows() { return rows_; }
  const std::deque<Option>& rows() const { return rows_; }
  std::deque<Options>& commands() { return commands_; }
  const std::deque<Options>& commands() const { return commands_; }
  /// Returns the row called `name`, or null.
  Option* find(std::string_view name);
  /// Notes what a user who gives the option `name`, which another program has, should do here.
  void instead_of(std::string name, std::string advice) { advice_[std::move(name)] = advice; }
  /// Returns that advice, or nothing.
  std::optional<std::string> advice_for(const std::string& name) const;
  bool given(std::string_view name);
  /// Notes that the user has given this command.
  void choose() { chosen_ = true; }
  /// Returns the name of the command that the user has given.
  const std::string& chosen_command() const;
  /// Returns the given words of each option, by its name without dashes; empty: it has its default.
  std::map<std::string, std::string> values() const;

 private:
  template <class Value>
  static constexpr std::uint64_t most_of();
  template <class Value>
  static std::string text_of(const Value& value);

  std::string program_;
  std::string about_;
  std::string examples_;
  std::string group_ = "Options";
  std::deque<Option> rows_;  // which others refer to
  std::deque<Options> commands_;
  std::map<std::string, std::string> advice_;  // by the name of another program's option
  bool chosen_ = false;
};

/// Reads a number from `least` to `most`; the error says which.
std::expected<std::uint64_t, std::string> read_whole(const std::string& text, std::uint64_t least,
                                                     std::uint64_t most);
std::expected<double, std::string> read_number(const std::string& text, double least, double most);
/// Returns the position of `text` in `choices`, or a list of them as the error.
std::expected<std::size_t, std::string> read_choice(const std::string& text, const Words& choices);
/// Returns the shortest text that is read as `number`.
std::string number_text(double number);
/// Returns `words` with `between` between them.
std::string joined(const Words& words, std::string_view between);

template <class Value>
constexpr std::uint64_t Options::most_of() {
  if constexpr (requires { typename Value::value_type; }) {
    return most_of<typename Value::value_type>();
  } else if constexpr (requires { typename Value::rep; }) {
    return most_of<typename Value::rep>();
  } else {
    return static_cast<std::uint64_t>(std::numeric_limits<Value>::max());
  }
}

template <class Value>
std::string Options::text_of(const Value& value) {
  if constexpr (requires { value.has_value(); }) {
    return value ? text_of(*value) : std::string();
  } else if constexpr (requires { value.count(); }) {
    return std::to_string(value.count());
  } else if constexpr (std::is_floating_point_v<Value>) {
    return number_text(value);
  } else {
    return std::to_string(value);
  }
}

template <class Value>
Option& Options::choice(const std::string& name, Value& value, const std::string& help,
                        const std::vector<std::pair<std::string, Value>>& choices) {
  Words names;
  for (const auto& choice : choices) names.push_back(choice.first);
  using Result = std::expected<Value, std::string>;
  auto& row = parsed(name, value, help, [choices, names](const std::string& text) -> Result {
    const auto position = read_choice(text, names);
    if (!position) return std::unexpected(position.error());
    return choices[*position].second;
  });
  row.type = joined(names, "|");
  for (const auto& choice : choices) {
    if (choice.second == value) row.default_text = choice.first;
  }
  return row;
}

template <class Value>
Option& Options::whole(const std::string& name, Value& value, const std::string& help,
                       std::uint64_t least, std::uint64_t most) {
  auto& row = parsed(name, value, help, [least, most](const std::string& text) {
    return read_whole(text, least, most);
  });
  row.type = "NUMBER";
  row.default_text = text_of(value);
  return row;
}

template <class Value>
Option& Options::number(const std::string& name, Value& value, const std::string& help,
                        double least, double most) {
  auto& row = parsed(name, value, help, [least, most](const std::string& text) {
    return read_number(text, least, most);
  });
  row.type = "NUMBER";
  row.default_text = text_of(value);
  return row;
}

template <class Value, class Read>
Option& Options::parsed(const std::string& name, Value& value, const std::string& help, Read read) {
  auto& row =
      parsed_list(name, value, help, [read](const Words& words) { return read(words.front()); });
  row.kind = Option::Kind::kValue;
  return row;
}

template <class Value, class Read>
Option& Options::parsed_each(const std::string& name, std::vector<Value>& values,
                             const std::string& help, Read read) {
  using Result = std::expected<std::vector<Value>, std::string>;
  return parsed_list(name, values, help, [read](const Words& words) -> Result {
    std::vector<Value> result;
    for (const auto& word : words) {
      auto value = read(word);
      if (!value) return std::unexpected(value.error());
      result.push_back(std::move(*value));
    }
    return result;
  });
}

template <class Value, class Read>
Option& Options::parsed_list(const std::string& name, Value& value, const std::string& help,
                             Read read) {
  return add({.kind = Option::Kind::kList,
              .name = name,
              .help = help,
              .set = [&value, read](const Words& words) -> Fault {
                auto result = read(words);
                if (!result) return result.error();
                value = static_cast<Value>(std::move(*result));
                return std::nullopt;
              }});
}

}  // namespace simco::cli
