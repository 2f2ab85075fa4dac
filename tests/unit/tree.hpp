// The source tree as its tests read it.
#pragma once

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

/// All C++ files of the product and its tests.
inline std::vector<Source> sources() {
  namespace fs = std::filesystem;
  std::vector<Source> result;
  for (const char* top : {"simco", "agent", "middlebox", "loadgen", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / top)) {
      const auto extension = entry.path().extension();
      if (extension != ".cpp" && extension != ".hpp") continue;
      Source source{fs::relative(entry.path(), kRoot).generic_string(), {}};
      std::ifstream stream(entry.path());
      for (std::string line; std::getline(stream, line);) source.lines.push_back(line);
      result.push_back(std::move(source));
    }
  }
  return result;
}

inline bool is_product(const Source& source) { return !source.path.starts_with("tests/"); }

}  // namespace simco::test
