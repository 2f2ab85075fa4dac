// The source tree as its tests read it.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace simco::test {

inline const std::filesystem::path kRoot = SIMCO_SOURCE_DIR;

struct Source {
  std::string path;  ///< from the root
  std::vector<std::string> lines;
};

inline Source read_source(const std::filesystem::path& file) {
  Source source{std::filesystem::relative(file, kRoot).generic_string(), {}};
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) source.lines.push_back(line);
  return source;
}

/// All C++ files of the product and its tests.
inline std::vector<Source> sources() {
  std::vector<Source> result;
  for (const char* top : {"simco", "agent", "middlebox", "loadgen", "tests"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(kRoot / top)) {
      const auto extension = entry.path().extension();
      if (extension == ".cpp" || extension == ".hpp") result.push_back(read_source(entry));
    }
  }
  return result;
}

/// All documents but the one about earlier versions, whose files may be gone.
inline std::vector<Source> documents() {
  std::vector<Source> result;
  const auto add = [&](const auto& entry) {
    const auto& path = entry.path();
    if (path.extension() == ".md" && path.filename() != "CHANGELOG.md") {
      result.push_back(read_source(path));
    }
  };
  for (const char* folder : {"", "agent", "loadgen", "middlebox", "scripts/simco_lab", "simco",
                             "tests", "tests/campaigns", "tests/foreign", "tests/vectors"}) {
    std::ranges::for_each(std::filesystem::directory_iterator(kRoot / folder), add);
  }
  std::ranges::for_each(std::filesystem::recursive_directory_iterator(kRoot / "doc"), add);
  return result;
}

inline bool is_product(std::string_view path) { return !path.starts_with("tests/"); }

using Findings = std::vector<std::string>;

/// Returns where a line is for which `found(path, line)` is true.
template <class Found>
Findings lines_that(const std::vector<Source>& tree, Found found) {
  Findings result;
  for (const auto& source : tree) {
    for (std::size_t i = 0; i < source.lines.size(); ++i) {
      const auto& line = source.lines[i];
      if (found(source.path, line)) {
        result.push_back(source.path + ":" + std::to_string(i + 1) + ": " + line);
      }
    }
  }
  return result;
}

}  // namespace simco::test
