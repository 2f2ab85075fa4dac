// The layout of --help, and messages about wrong usage: which option, what is wrong with it, and
// the nearest name that exists.
#include "simco/cli/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>

#include "simco/cli/values.hpp"
#include "simco/net/transport_type.hpp"
#include "simco/wire/number.hpp"

namespace simco::cli {
namespace {

/// Types by names that say something to people, and defaults in words.
class Layout : public CLI::Formatter {
 public:
  Layout() { column_width(28); }

  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    auto text = CLI::Formatter::make_help(app, std::move(name), mode);
    const std::string_view gap = "\n\n\n";
    for (auto at = text.find(gap); at != text.npos; at = text.find(gap, at)) text.erase(at, 1);
    return text;
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0) return {};
    std::string type = option->get_type_name();
    const auto values = type.find(":{");
    if (values != std::string::npos) {
      type = type.substr(values + 2, type.size() - values - 3);
      std::ranges::replace(type, ',', '|');
    } else if (type == "UINT" || type == "INT" || type == "FLOAT") {
      type = "NUMBER";
    } else if (type == "BOOLEAN") {
      type = "true|false";
    }
    return " " + type + (option->get_required() && !option->get_positional() ? " (required)" : "");
  }

  std::string make_option_desc(const CLI::Option* option) const override {
    auto text = option->get_description();
    auto value = option->get_default_str();
    if (value.starts_with('[') && value.ends_with(']')) value = value.substr(1, value.size() - 2);
    if (option->get_type_name() == "BOOLEAN")
      value = value == "1" || value == "true" ? "true" : "false";
    if (!value.empty()) text += " (default " + value + ")";
    return text;
  }
};

/// Number of insertions, deletions, replacements and swaps of neighbours between two words.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> rows(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        rows[i][j] = i + j;
        continue;
      }
      const std::size_t differs = a[i - 1] == b[j - 1] ? 0 : 1;
      rows[i][j] = std::min({rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + differs});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  }
  return rows[a.size()][b.size()];
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* option : app.get_options()) {
    if (!option->get_lnames().empty()) names.push_back("--" + option->get_lnames().front());
  }
  for (const auto* chosen : app.get_subcommands()) {
    for (auto& name : options_of(*chosen)) names.push_back(std::move(name));
  }
  return names;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

/// A word that nothing has a use for.
std::optional<std::string> stray_word(const CLI::App& app) {
  const auto words = app.remaining(true);
  if (words.empty()) return std::nullopt;
  const auto commands = commands_of(app);
  const auto& first = words.front();
  if (first.starts_with("-") && first.size() > 1) {
    const auto name = first.substr(0, first.find('='));
    return "unknown option " + name + did_you_mean(name, options_of(app));
  }
  if (commands.empty() || !app.get_subcommands().empty()) {
    return "unexpected argument '" + first + "'";
  }
  return "no command '" + first + "'" + did_you_mean(first, commands);
}

std::string text_of(double number) {
  std::string text(32, ' ');
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), number);
  text.resize(static_cast<std::size_t>(end - text.data()));
  return text;
}

std::string unlike(const std::string& expected, const std::string& got) {
  return "expected " + expected + ", got '" + got + "'";
}

std::string without_newline(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

/// The help: of `app` and, with `all`, of everything below it.
std::string help_of(CLI::App& app, bool all = false) {
  for (auto* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    command->group("Commands");
  }
  if (all) return app.help("", CLI::AppFormatMode::All);
  if (app.get_help_all_ptr() == nullptr) return app.help();
  for (const auto& type : net::transport_types()) {
    const auto group = transport_group(type.name);
    for (auto* option : app.get_options()) {
      if (option->get_group() == group) option->group("");
    }
  }
  return app.help();
}

/// What is wrong with a command line, for which `app` has thrown `error`.
std::string usage_fault(const CLI::App& app, const CLI::Error& error) {
  // A misspelt word is the reason for whatever is missing elsewhere.
  if (auto stray = stray_word(app)) return *stray;
  const std::string what = error.what();
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && app.get_subcommands().empty() &&
      !commands_of(app).empty()) {
    return "give a command: " + joined(commands_of(app));
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    const auto name = what.substr(0, what.find(':'));
    return name + ": the value is missing, or there is one too many";
  }
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) {
    const auto equals = what.find(" = ");
    const std::string_view before = "Could not convert: ";
    if (what.starts_with(before) && equals != std::string::npos) {
      return what.substr(before.size(), equals - before.size()) + ": " +
             unlike("another kind of value", what.substr(equals + 3));
    }
  }
  return what;
}

}  // namespace

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  return CLI::Validator(
      [least, most](std::string& text) {
        if (parse_number<std::uint64_t>(text, least, most)) return std::string();
        return unlike(
            "a whole number from " + std::to_string(least) + " to " + std::to_string(most), text);
      },
      "");
}

CLI::Validator number(double least, double most) {
  return CLI::Validator(
      [least, most](std::string& text) {
        if (parse_number<double>(text, least, most)) return std::string();
        return unlike("a number from " + text_of(least) + " to " + text_of(most), text);
      },
      "");
}

CLI::Validator one_of(std::vector<std::string> values) {
  const auto list = "{" + CLI::detail::join(values, ",") + "}";
  return CLI::Validator(
      [values](std::string& text) {
        if (std::ranges::find(values, text) != values.end()) return std::string();
        std::string expected;
        for (std::size_t i = 0; i < values.size(); ++i) {
          expected += (i == 0 ? "" : i + 1 == values.size() ? " or " : ", ") + values[i];
        }
        return unlike(expected, text);
      },
      list);
}

CLI::Validator either(const CLI::Validator& first, const CLI::Validator& second) {
  return CLI::Validator(
      [first, second](std::string& text) {
        const auto fault = first(text);
        return fault.empty() || second(text).empty() ? std::string() : fault;
      },
      "");
}

std::string transport_group(std::string_view transport) {
  std::string name(transport);
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return name;
}

void set_layout(CLI::App& app, const std::string& examples) {
  app.formatter(std::make_shared<Layout>());
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  if (!examples.empty()) app.footer("Examples:\n" + examples);
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& names) {
  const std::string* best = nullptr;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const auto& name : names) {
    const auto steps = distance(word, name);
    if (steps >= least) continue;
    least = steps;
    best = &name;
  }
  return best == nullptr ? "" : "; did you mean " + *best + "?";
}

UsageExit wrong(const CLI::App& app, const std::string& what, const char* hint) {
  if (hint == nullptr) {
    hint = commands_of(app).empty() ? "--help lists the options"
                                    : "--help lists the commands, COMMAND --help its options";
  }
  return {app.get_name() + ": " + what + " (" + hint + ")"};
}

int leave(const UsageExit& exit) {
  std::fputs((exit.text + "\n").c_str(), exit.code == 0 ? stdout : stderr);
  return exit.code;
}

void complain(const std::string& program, const std::string& what) {
  std::fputs((program + ": " + what + "\n").c_str(), stderr);
}

void declare_help(CLI::App& app, const std::string& help, const std::string& help_all) {
  app.set_help_flag("-h,--help", help);
  if (app.get_option_no_throw("--transport") != nullptr) {
    app.set_help_all_flag("--help-all", help_all);
  }
  app.set_version_flag("-V,--version", app.get_name() + " " SIMCO_VERSION, "Print the version");
}

std::optional<UsageExit> parse(CLI::App& app, std::vector<std::string> words) {
  try {
    std::ranges::reverse(words);
    app.parse(std::move(words));
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    return UsageExit{without_newline(help_of(app)), 0};  // of the command, after one
  } catch (const CLI::CallForAllHelp&) {
    return UsageExit{without_newline(help_of(app, true)), 0};
  } catch (const CLI::CallForVersion& version) {
    return UsageExit{version.what(), 0};
  } catch (const CLI::Error& error) {
    return wrong(app, usage_fault(app, error));
  }
}

std::optional<UsageExit> parse(CLI::App& app, int argc, const char* const* argv) {
  return parse(app, std::vector<std::string>(argv + 1, argv + argc));
}

std::optional<std::string> word_fault(CLI::App& app, const std::string& word) {
  try {
    app.parse(std::vector<std::string>{word});
    return std::nullopt;
  } catch (const CLI::Error& error) {
    return usage_fault(app, error);
  }
}

}  // namespace simco::cli
