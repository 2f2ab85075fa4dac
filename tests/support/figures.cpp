#include "tests/support/figures.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

namespace simco::test {

std::vector<FigureCase> figure_cases() {
  std::ifstream file(SIMCO_SOURCE_DIR "/tests/vectors/messages.json");
  std::vector<FigureCase> cases;
  for (const auto& vector : nlohmann::json::parse(file)) {
    std::string text;
    for (const auto& line : vector.at("octets")) text += line.get<std::string>();
    cases.push_back({vector.at("name"), from_hex(text)});
  }
  return cases;
}

}  // namespace simco::test
