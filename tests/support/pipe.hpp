// A pipe that a program writes to, and that nobody may read.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <string>
#include <utility>

#include "tests/support/patience.hpp"

namespace simco::test {

/// A pipe with a name, which its maker fills, reads, or leaves alone.
class Pipe {
 public:
  explicit Pipe(const std::string& path) : path_(path) {
    EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
    descriptor_ = ::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    EXPECT_GE(descriptor_, 0);
  }
  ~Pipe() {
    close();
    ::unlink(path_.c_str());
  }
  void close() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  }
  void fill() const {
    const std::string junk(4096, '.');
    while (::write(descriptor_, junk.data(), junk.size()) > 0 ||
           ::write(descriptor_, ".", 1) == 1) {
    }
  }
  /// Reads until `text` has come.
  std::string read_until(const std::string& text) const {
    std::string all;
    EXPECT_TRUE(eventually([&] {
      std::array<char, 65536> octets;
      const auto got = ::read(descriptor_, octets.data(), octets.size());
      if (got > 0) all.append(octets.data(), static_cast<std::size_t>(got));
      return all.contains(text);
    }));
    return all;
  }

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace simco::test
