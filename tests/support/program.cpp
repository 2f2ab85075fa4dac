#include "tests/support/program.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "tests/support/folder.hpp"
#include "tests/support/patience.hpp"

extern char** environ;

namespace simco::test {
namespace {

/// Octets of each output that are shown of a program whose test failed: the end.
constexpr std::size_t kShown = 4000;
constexpr int kNotFound = 127;  ///< as a shell's

/// This program's environment, without the values that its user keeps for simcoctl.
std::vector<char*> clean_environment() {
  static char no_file[] = "SIMCO_CONFIG=/dev/null";
  std::vector<char*> result{no_file};
  for (char** one = environ; *one != nullptr; ++one) {
    if (!std::string_view(*one).starts_with("SIMCO_")) result.push_back(*one);
  }
  result.push_back(nullptr);
  return result;
}

std::string end_of(const std::string& text) {
  return text.size() <= kShown ? text : "... " + text.substr(text.size() - kShown);
}

}  // namespace

Words operator+(Words first, const Words& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

Program::Program(Words words, const std::string& input) : name_(words.front()) {
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
  auto environment = clean_environment();
  const int fault = posix_spawn(&pid_, argv[0], &files, nullptr, argv.data(), environment.data());
  EXPECT_EQ(fault, 0) << words[0];
  if (fault != 0) exit_code_ = kNotFound;  // no process gets its signals
  posix_spawn_file_actions_destroy(&files);
}

Program::~Program() {
  if (!exit_code_) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  if (testing::Test::HasFailure()) {
    std::printf("--- %s said:\n%s%s---\n", name_.c_str(), end_of(out()).c_str(),
                end_of(err()).c_str());
  }
  ::unlink((base_ + ".out").c_str());
  ::unlink((base_ + ".err").c_str());
}

std::string Program::out() const { return contents_of(base_ + ".out"); }
std::string Program::err() const { return contents_of(base_ + ".err"); }

std::optional<int> Program::ended() {
  int status = 0;
  if (!exit_code_ && ::waitpid(pid_, &status, WNOHANG) == pid_) {
    exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  return exit_code_;
}

std::optional<int> Program::wait() {
  eventually([this] { return !running(); });
  return exit_code_;
}

std::uint16_t Program::listening_port(const std::string& transport) {
  const auto line = line_with("listening on " + transport + " ");
  if (line.empty()) return 0;
  return static_cast<std::uint16_t>(std::stoi(line.substr(line.rfind(':') + 1)));
}

std::string Program::line_with(const std::string& words) {
  std::string line;
  const auto there = [&] {
    const auto text = err();
    const auto from = text.find(words);
    const auto end = text.find('\n', std::min(from, text.size()));
    if (end != std::string::npos) line = text.substr(from, end - from);
    return !line.empty();
  };
  eventually([&] {
    const bool over = !running();  // before the look: its last output counts
    return there() || over;
  });
  EXPECT_FALSE(line.empty()) << "does not say '" << words << "': " << err();
  return line;
}

bool Program::says(const std::string& words) {
  return eventually([&] { return err().contains(words); });
}

Outcome run(const Words& words) {
  Program program(words);
  const auto code = program.wait();
  EXPECT_TRUE(code) << words[0] << " hangs: " << program.err();
  return {code.value_or(-99), program.out(), program.err()};
}

Outcome run(const Words& words, int code) {
  auto outcome = run(words);
  EXPECT_EQ(outcome.code, code) << words[0] << ": " << outcome.err;
  return outcome;
}

}  // namespace simco::test
