// Looks up kept values. An option that has a value keeps it, so the order of the sources is their
// precedence.
#include "simco/cli/kept_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>

#include "simco/cli/command_line.hpp"
#include "simco/cli/config_file.hpp"

namespace simco::cli {
namespace {

constexpr const char* kProfiles = "profiles";

struct File {
  std::string path;
  toml::table table;
};

/// "SIMCO_SECRET_FILE" for "--secret-file".
std::string variable_of(const Option& row, const std::string& prefix) {
  std::string name = prefix + row.name.substr(2);
  std::ranges::transform(name, name.begin(), [](unsigned char c) {
    return c == '-' ? '_' : static_cast<char>(std::toupper(c));
  });
  return name;
}

/// Sets an option from its variable, if it has one. An empty variable is none.
Fault take_variable(Option& row, const std::string& prefix) {
  const auto variable = variable_of(row, prefix);
  const char* value = std::getenv(variable.c_str());
  if (!row.given.empty() || value == nullptr || *value == '\0') return std::nullopt;
  row.source = variable;
  const auto fault = row.take({value});
  return fault ? Fault(variable + ": " + *fault) : std::nullopt;
}

Fault take_variables(Options& options, const std::string& prefix) {
  for (auto& row : options.rows()) {
    if (auto fault = take_variable(row, prefix)) return fault;
  }
  return std::nullopt;
}

std::expected<std::vector<File>, std::string> read_files(const std::vector<std::string>& paths,
                                                         bool must_exist) {
  std::vector<File> result;
  for (const auto& path : paths) {
    std::error_code ignored;
    if (!must_exist && !std::filesystem::exists(path, ignored)) continue;
    auto table = parse_config_file(path);
    if (!table) return std::unexpected(table.error());
    result.push_back({path, std::move(*table)});
  }
  return result;
}

/// Sets options from the profile called `name` in those files that have it.
Fault take_profile(const std::vector<File>& files, const std::string& name, Options& options) {
  if (name.empty()) return std::nullopt;
  bool found = false;
  Words known;
  for (const auto& file : files) {
    const auto* profiles = file.table[kProfiles].as_table();
    if (profiles == nullptr) continue;
    for (const auto& [key, value] : *profiles) known.emplace_back(key.str());
    const auto* profile = (*profiles)[name].as_table();
    if (profile == nullptr) continue;
    found = true;
    if (auto fault = take_table(*profile, file.path, options)) return fault;
  }
  if (found) return std::nullopt;
  const auto fault = fmt::format("--profile: there is no profile '{}'", name);
  if (!known.empty()) return with_sources(options, fault + "; there are " + joined(known, ", "));
  return with_sources(options,
                      fmt::format("{}: a profile is a table [{}.{}] in {}", fault, kProfiles, name,
                                  files.empty() ? "a configuration file" : files.front().path));
}

}  // namespace

void declare_kept(Options& options, KeptArguments& arguments, const KeptValues& kept) {
  options
      .text("--config", arguments.config,
            "TOML file with these options as keys, instead of " + kept.files_in_help)
      .only_on_command_line = true;
  options
      .text("--profile", arguments.profile,
            fmt::format("Use the options in the file's table [{}.NAME] instead of those outside it "
                        "and in the environment",
                        kProfiles))
      .only_on_command_line = true;
}

Fault read_kept_values(Options& options, const KeptArguments& arguments, const KeptValues& kept) {
  const bool profile_alone = options.given("--profile");
  for (const char* name : {"--config", "--profile"}) {
    if (auto fault = take_variable(*options.find(name), kept.prefix)) return fault;
  }
  const bool named = !arguments.config.empty();
  const auto files = read_files(named ? Words{arguments.config} : kept.files, named);
  if (!files) return files.error();
  if (!profile_alone) {
    if (auto fault = take_variables(options, kept.prefix)) return fault;
  }
  if (!arguments.profile.empty()) return take_profile(*files, arguments.profile, options);
  for (const auto& file : *files) {
    if (auto fault = take_table(file.table, file.path, options, {.own_keys = {kProfiles}})) {
      return fault;
    }
  }
  return std::nullopt;
}

std::string with_sources(const Options& options, std::string fault) {
  Words sources;
  for (const auto& row : options.rows()) {
    if (row.source.empty() || !fault.contains(row.name)) continue;
    sources.push_back(row.name + " from " + row.source);
  }
  return sources.empty() ? fault : fault + " (" + joined(sources, ", ") + ")";
}

}  // namespace simco::cli
