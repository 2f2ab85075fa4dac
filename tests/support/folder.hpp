// A folder that goes with the test.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace simco::test {

struct Folder {
  explicit Folder(const std::string& name)
      : path(testing::TempDir() + "simco-" + name + "-" + std::to_string(::getpid())) {
    std::filesystem::remove_all(path);
    std::filesystem::create_directory(path);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path); }

  const std::string path;
};

}  // namespace simco::test
