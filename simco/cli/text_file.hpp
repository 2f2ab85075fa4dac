// Reads small files that the command line names.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <expected>
#include <memory>
#include <string>

namespace simco::cli {

/// Returns the contents of a file, or why it cannot be read.
inline std::expected<std::string, std::string> read_text_file(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                             &std::fclose);
  if (!file) return std::unexpected(std::strerror(errno));
  std::string text;
  char part[4096];
  while (const auto size = std::fread(part, 1, sizeof part, file.get())) text.append(part, size);
  if (std::ferror(file.get()) != 0) return std::unexpected(std::strerror(errno));
  return text;
}

}  // namespace simco::cli
