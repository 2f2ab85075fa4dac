// The rows, and messages about wrong values, which list the right ones.
#include "simco/cli/options.hpp"

#include <algorithm>
#include <charconv>
#include <ranges>

#include "simco/wire/assert.hpp"
#include "simco/wire/number.hpp"

namespace simco::cli {
namespace {

using TextRead = std::expected<std::string, std::string>;

std::string expected_not(const std::string& expected, const std::string& text) {
  return "expected " + expected + ", got '" + text + "'";
}

/// The parts of `words` between commas.
Words split(const Words& words) {
  Words result;
  for (const auto& word : words) {
    for (const auto part : std::views::split(word, ',')) {
      if (!part.empty()) result.emplace_back(part.begin(), part.end());
    }
  }
  return result;
}

}  // namespace

std::expected<std::uint64_t, std::string> read_whole(const std::string& text, std::uint64_t least,
                                                     std::uint64_t most) {
  if (const auto number = parse_number<std::uint64_t>(text, least, most)) return *number;
  return std::unexpected(expected_not(
      "a whole number from " + std::to_string(least) + " to " + std::to_string(most), text));
}

std::expected<double, std::string> read_number(const std::string& text, double least, double most) {
  if (const auto number = parse_number<double>(text, least, most)) return *number;
  return std::unexpected(
      expected_not("a number from " + number_text(least) + " to " + number_text(most), text));
}

std::expected<std::size_t, std::string> read_choice(const std::string& text, const Words& choices) {
  const auto found = std::ranges::find(choices, text);
  if (found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
  std::string expected = choices.front();
  for (std::size_t i = 1; i < choices.size(); ++i) {
    expected += (i + 1 == choices.size() ? " or " : ", ") + choices[i];
  }
  return std::unexpected(expected_not(expected, text));
}

std::string number_text(double number) {
  std::string text(32, ' ');
  text.resize(static_cast<std::size_t>(
      std::to_chars(text.data(), text.data() + text.size(), number).ptr - text.data()));
  return text;
}

std::string joined(const Words& words, std::string_view between) {
  std::string text;
  for (const auto& word : words) {
    if (!text.empty()) text += between;
    text += word;
  }
  return text;
}

Fault Option::take(const Words& words) {
  auto parts = kind == Kind::kList ? split(words) : words;
  if (parts.empty()) return "the value is missing";
  if (kind != Kind::kList) parts = {joined(parts, ",")};
  if (auto fault = set(parts)) return fault;
  given = std::move(parts);
  return std::nullopt;
}

Options& Options::command(std::string name, std::string about, std::string examples) {
  return commands_.emplace_back(std::move(name), std::move(about), std::move(examples));
}

Option& Options::add(Option option) {
  option.group = group_;
  return rows_.emplace_back(std::move(option));
}

Option& Options::text(const std::string& name, std::string& value, const std::string& help) {
  auto& row = parsed(name, value, help, [](const std::string& text) { return TextRead(text); });
  row.default_text = value;
  return row;
}

Option& Options::flag(const std::string& name, bool& value, const std::string& help) {
  auto& row = choice<bool>(name, value, help, {{"true", true}, {"false", false}});
  row.kind = Option::Kind::kFlag;
  row.type = row.default_text = {};
  return row;
}

Option& Options::choice(const std::string& name, std::string& value, const std::string& help,
                        const Words& choices) {
  std::vector<std::pair<std::string, std::string>> values;
  for (const auto& choice : choices) values.emplace_back(choice, choice);
  return choice<std::string>(name, value, help, values);
}

Option& Options::choices(const std::string& name, Words& values, const std::string& help,
                         const Words& choices) {
  auto& row = parsed_each(name, values, help, [choices](const std::string& text) {
    const auto position = read_choice(text, choices);
    return position ? TextRead(text) : std::unexpected(position.error());
  });
  row.type = joined(choices, "|");
  row.default_text = joined(values, ",");
  return row;
}

Option& Options::seconds(const std::string& name, std::chrono::milliseconds& value,
                         const std::string& help, double least, double most) {
  using Result = std::expected<std::chrono::milliseconds, std::string>;
  auto& row = parsed(name, value, help, [least, most](const std::string& text) -> Result {
    const auto number = read_number(text, least, most);
    if (!number) return std::unexpected(number.error());
    return std::chrono::milliseconds(static_cast<std::int64_t>(*number * 1000));
  });
  row.type = "NUMBER";
  row.default_text = number_text(static_cast<double>(value.count()) / 1000);
  return row;
}

Option* Options::find(std::string_view name) {
  const auto row = std::ranges::find(rows_, name, &Option::name);
  return row == rows_.end() ? nullptr : &*row;
}

std::optional<std::string> Options::advice_for(const std::string& name) const {
  const auto found = advice_.find(name);
  return found == advice_.end() ? std::nullopt : std::optional(found->second);
}

bool Options::given(std::string_view name) {
  const auto* row = find(name);
  return row != nullptr && !row->given.empty();
}

const std::string& Options::chosen_command() const {
  const auto command = std::ranges::find_if(commands_, &Options::chosen_);
  SIMCO_ASSERT(command != commands_.end());  // parse() requires one
  return command->program_;
}

std::map<std::string, std::string> Options::values() const {
  std::map<std::string, std::string> result;
  for (const auto& row : rows_) result[row.name.substr(2)] = joined(row.given, ",");
  return result;
}

}  // namespace simco::cli
