// A folder that goes with the test, and files in it.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace simco::test {

/// All of a file; nothing where there is none.
inline std::string contents_of(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

struct Folder {
  explicit Folder(const std::string& name)
      : path(testing::TempDir() + "simco-" + name + "-" + std::to_string(::getpid())) {
    std::filesystem::remove_all(path);
    std::filesystem::create_directory(path);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path); }

  std::string file(const std::string& name) const { return path + "/" + name; }
  /// Makes a file. Returns its path.
  std::string write(const std::string& name, const std::string& text, mode_t mode = 0600) const {
    std::ofstream(file(name)) << text;
    ::chmod(file(name).c_str(), mode);
    return file(name);
  }

  const std::string path;
};

}  // namespace simco::test
