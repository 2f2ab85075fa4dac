// Runs a program of this build and reads its output.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace simco::test {

class Program {
 public:
  /// A program without a path is this build's. `input`: a file that becomes its standard input. Its
  /// output is kept, and shown if the test fails.
  explicit Program(std::vector<std::string> words, const std::string& input = {});
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program();

  pid_t pid() const { return pid_; }
  void signal(int number) { ::kill(pid_, number); }
  std::string out() const;
  std::string err() const;

  /// Whether it still runs.
  bool running() { return !ended(); }
  /// Waits for its end. Exit code, or -signal, or nothing when it hangs.
  std::optional<int> wait();

  /// Port of the line "listening on TRANSPORT ADDRESS:PORT", which must come.
  std::uint16_t listening_port(const std::string& transport = "tcp");
  /// The rest of a line on standard error from `words` on, which must come.
  std::string line_with(const std::string& words);
  /// Waits until `words` are on standard error. Returns false if they never are.
  bool says(const std::string& words);

 private:
  /// Looks whether it has ended, and how.
  std::optional<int> ended();

  std::string base_;
  std::string name_;
  pid_t pid_ = 0;
  std::optional<int> exit_code_;
};

}  // namespace simco::test
