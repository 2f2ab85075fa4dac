// Runs a program of this build and reads its output.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace simco::test {

using Words = std::vector<std::string>;

/// `first`, and `more` behind it.
Words operator+(Words first, const Words& more);
/// How often `part` is in a text.
std::size_t count_of(const std::string& text, const std::string& part);

class Program {
 public:
  /// A program without a path is this build's. `input`: a file that becomes its standard input. Its
  /// output is kept, and shown if the test fails.
  explicit Program(Words words, const std::string& input = {});
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program();

  pid_t pid() const { return pid_; }
  void signal(int number) {
    if (!exit_code_) ::kill(pid_, number);
  }
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

/// How a program has ended, and its output.
struct Outcome {
  int code;  ///< as of Program::wait(), or -99 if it hangs
  std::string out;
  std::string err;
};
/// Runs a program to its end.
Outcome run(const Words& words);
/// Likewise; it must end with `code`.
Outcome run(const Words& words, int code);

}  // namespace simco::test
