// The command line, read by CLI11, which no other unit includes: the layout of --help, and messages
// about wrong usage: which option, what is wrong with it, and the nearest name that exists.
#include "simco/cli/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <optional>
#include <utility>

#include "simco/cli/options.hpp"
#include "simco/library/optional.hpp"

namespace simco::cli {
namespace {

/// Types and defaults as the rows have them.
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
    const auto type = option->get_type_name();
    if (type.empty()) return {};
    const bool required = option->get_required() && !option->get_positional();
    return " " + type + (required ? " (required)" : "");
  }

  std::string make_option_desc(const CLI::Option* option) const override {
    const auto value = option->get_default_str();
    return option->get_description() + (value.empty() ? "" : " (default " + value + ")");
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

/// A word that nothing has a use for.
std::optional<std::string> stray_word(const CLI::App& app, const Options& options) {
  const auto words = app.remaining(true);
  if (words.empty()) return std::nullopt;
  const auto commands = commands_of(app);
  const auto& first = words.front();
  if (first.starts_with("-") && first.size() > 1) {
    const auto name = first.substr(0, first.find('='));
    const auto near = did_you_mean(name, options_of(app));
    const auto advice = near.empty() ? options.advice_for(name) : std::nullopt;
    return "unknown option " + name + (advice ? "; " + *advice : near);
  }
  if (commands.empty() || !app.get_subcommands().empty()) {
    return "unexpected argument '" + first + "'";
  }
  return "no command '" + first + "'" + did_you_mean(first, commands);
}

std::string without_newline(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

void declare_rows(CLI::App& app, Options& options) {
  for (auto& row : options.rows()) {
    const auto take = [&row](const Words& words) {
      if (const auto fault = row.take(words)) throw CLI::ValidationError(row.name, *fault);
      return true;
    };
    auto* option = app.add_option(row.name, take, row.help);
    option->group(row.group)->type_name(row.type);
    if (!row.required) option->default_str(row.default_text);
    if (row.kind == Option::Kind::kFlag) {
      option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)->expected(0);
    } else if (row.kind == Option::Kind::kList) {
      option->expected(CLI::detail::expected_max_vector_size);
    }
    option->required(row.required);
    for (const auto& other : row.excludes) option->excludes(app.get_option(other));
  }
}

/// A line for each library that this program loads when asked: whether it can.
std::string optional_libraries() {
  std::string lines;
  using Library = std::pair<const char*, library::Load>;
  for (const auto& [what, load] :
       {Library("QUIC", simco_load_quic), Library("userland SCTP", simco_load_usrsctp),
        Library("Redis", simco_load_hiredis)}) {
    if (load == nullptr) continue;
    const char* fault = library::fault_in(load);
    lines += std::string("\n") + what + ": " + (fault == nullptr ? "installed" : fault);
  }
  return lines;
}

/// Declares the options for help, in the last group.
void declare_help(CLI::App& app, const Options& options) {
  const bool commands = !options.commands().empty();
  app.option_defaults()->group(options.current_group());
  app.set_help_flag("-h,--help", commands ? "Print this help, and that of a command after it"
                                          : "Print this help");
  if (std::ranges::any_of(options.rows(), &Option::only_in_help_all)) {
    app.set_help_all_flag("--help-all", commands
                                            ? "Print all options, and the help of every command"
                                            : "Print this help, with what tunes a transport");
  }
  app.set_version_flag(
      "-V,--version", [&app] { return app.get_name() + " " SIMCO_VERSION + optional_libraries(); },
      "Print the version, and which optional libraries there are");
  app.option_defaults()->group("Options");
}

void declare_commands(CLI::App& app, Options& options) {
  if (options.commands().empty()) return;
  app.require_subcommand(1)->fallthrough();
  for (auto& command : options.commands()) {
    auto* declared = app.add_subcommand(command.program(), command.about())->group("Commands");
    if (!command.examples().empty()) declared->footer("Examples:\n" + command.examples());
    declared->callback([&command] { command.choose(); });
    declare_rows(*declared, command);
  }
}

void declare(CLI::App& app, Options& options) {
  app.formatter(std::make_shared<Layout>());
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  if (!options.examples().empty()) app.footer("Examples:\n" + options.examples());
  declare_rows(app, options);
  declare_help(app, options);
  declare_commands(app, options);
}

/// The help: of `app` and, with `all`, of everything below it.
std::string help_of(CLI::App& app, const Options& options, bool all = false) {
  if (all) return app.help("", CLI::AppFormatMode::All);
  for (const auto& row : options.rows()) {
    if (row.only_in_help_all) app.get_option(row.name)->group("");
  }
  return app.help();
}

/// What is wrong with a command line, for which `app` has thrown `error`.
std::string usage_fault(const CLI::App& app, const Options& options, const CLI::Error& error) {
  // A misspelt word is the reason for missing words elsewhere.
  if (auto stray = stray_word(app, options)) return *stray;
  const std::string what = error.what();
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && app.get_subcommands().empty() &&
      !commands_of(app).empty()) {
    return "give a command: " + joined(commands_of(app), ", ");
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    const auto name = what.substr(0, what.find(':'));
    return name + ": the value is missing, or there is one too many";
  }
  return what;
}

}  // namespace

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

UsageExit wrong(const Options& options, const std::string& what, const char* hint) {
  if (hint == nullptr) {
    hint = options.commands().empty() ? "--help lists the options"
                                      : "--help lists the commands, COMMAND --help its options";
  }
  return {options.program() + ": " + what + " (" + hint + ")"};
}

int leave(const UsageExit& exit) {
  std::fputs((exit.text + "\n").c_str(), exit.code == 0 ? stdout : stderr);
  return exit.code;
}

void complain(const std::string& program, const std::string& what) {
  std::fputs((program + ": " + what + "\n").c_str(), stderr);
}

std::optional<UsageExit> parse(Options& options, int argc, const char* const* argv) {
  CLI::App app(options.about(), options.program());
  declare(app, options);
  try {
    app.parse(std::vector<std::string>(std::reverse_iterator(argv + argc),
                                       std::reverse_iterator(argv + 1)));
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    return UsageExit{without_newline(help_of(app, options)), 0};  // of the command, after one
  } catch (const CLI::CallForAllHelp&) {
    return UsageExit{without_newline(help_of(app, options, true)), 0};
  } catch (const CLI::CallForVersion& version) {
    return UsageExit{version.what(), 0};
  } catch (const CLI::Error& error) {
    return wrong(options, usage_fault(app, options, error));
  }
}

}  // namespace simco::cli
