#include "loadgen/output_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace simco::loadgen {
namespace {

std::unexpected<std::string> cannot_write(const std::string& path) {
  return std::unexpected("cannot write " + path + ": " + std::strerror(errno));
}

}  // namespace

std::expected<void, std::string> can_write(const std::string& path) {
  if (path.empty() || path == "-") return {};
  std::FILE* file = std::fopen(path.c_str(), "a");
  if (file == nullptr) return cannot_write(path);
  std::fclose(file);
  return {};
}

std::expected<void, std::string> write_text(const std::string& path, const std::string& text) {
  if (path == "-") {
    std::fputs(text.c_str(), stdout);
    return {};
  }
  std::FILE* file = std::fopen(path.c_str(), "w");
  const bool written = file != nullptr && std::fputs(text.c_str(), file) >= 0;
  const bool closed = file != nullptr && std::fclose(file) == 0;
  if (!written || !closed) return cannot_write(path);
  return {};
}

}  // namespace simco::loadgen
