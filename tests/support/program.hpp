// Runs a program of this build and reads what it prints.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

extern char** environ;

namespace simco::test {

class Program {
 public:
  /// A program without a path is this build's. `input`: a file that becomes its standard input.
  explicit Program(std::vector<std::string> words, const std::string& input = {}) {
    static int count = 0;
    base_ =
        testing::TempDir() + "simco-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
    if (!words.front().starts_with('/')) words.front().insert(0, SIMCO_BIN_DIR "/");
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    const int flags = O_WRONLY | O_CREAT | O_TRUNC;
    if (!input.empty()) {
      posix_spawn_file_actions_addopen(&files, 0, input.c_str(), O_RDONLY, 0);
    }
    posix_spawn_file_actions_addopen(&files, 1, (base_ + ".out").c_str(), flags, 0600);
    posix_spawn_file_actions_addopen(&files, 2, (base_ + ".err").c_str(), flags, 0600);
    EXPECT_EQ(posix_spawn(&pid_, argv[0], &files, nullptr, argv.data(), environ), 0) << words[0];
    posix_spawn_file_actions_destroy(&files);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() {
    if (!exit_code_) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    ::unlink((base_ + ".out").c_str());
    ::unlink((base_ + ".err").c_str());
  }

  pid_t pid() const { return pid_; }
  void signal(int number) { ::kill(pid_, number); }
  std::string out() const { return read(base_ + ".out"); }
  std::string err() const { return read(base_ + ".err"); }

  /// Exit code, or -signal, or nothing when it still runs after `limit`.
  std::optional<int> wait(std::chrono::seconds limit = std::chrono::seconds(60)) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!exit_code_ && std::chrono::steady_clock::now() < end) {
      int status = 0;
      if (::waitpid(pid_, &status, WNOHANG) == pid_) {
        exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
      } else {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    }
    return exit_code_;
  }

  /// Port of the line "listening on TRANSPORT ADDRESS:PORT", which must come.
  std::uint16_t listening_port(const std::string& transport = "tcp") {
    const auto line = line_with("listening on " + transport + " ");
    if (line.empty()) return 0;
    return static_cast<std::uint16_t>(std::stoi(line.substr(line.rfind(':') + 1)));
  }
  /// The rest of a line on standard error from `words` on, which must come.
  std::string line_with(const std::string& words) {
    for (int i = 0; i < 2000 && !wait(std::chrono::seconds(0)); ++i) {
      const auto text = err();
      const auto from = text.find(words);
      const auto end = text.find('\n', std::min(from, text.size()));
      if (end != std::string::npos) return text.substr(from, end - from);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ADD_FAILURE() << "does not say '" << words << "': " << err();
    return {};
  }

 private:
  static std::string read(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  std::string base_;
  pid_t pid_ = 0;
  std::optional<int> exit_code_;
};

}  // namespace simco::test
