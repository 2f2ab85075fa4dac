// A middlebox as an operator runs it, and simcoctl as its agent.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "tests/support/folder.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/program.hpp"

namespace simco::test {

/// PIDs and GIDs of a middlebox that was just started, as if they began at 1.
class PlainIds {
 public:
  /// `text` with plain identifiers. The first one ever seen stands for 1.
  std::string plain(const std::string& text) {
    static const std::regex number("[0-9]{7,10}");
    std::string result;
    auto rest = text.begin();
    for (std::sregex_iterator at(text.begin(), text.end(), number), end; at != end; ++at) {
      const auto id = std::stoull(at->str());
      result.append(rest, text.begin() + at->position());
      rest = text.begin() + at->position() + at->length();
      if (!first_) first_ = id;
      result += id < *first_ ? at->str() : std::to_string(id - *first_ + 1);
    }
    return result.append(rest, text.end());
  }
  /// The identifier that plain() shows as `number`; itself before the first one was seen.
  std::string real(const std::string& number) const {
    return first_ ? std::to_string(*first_ + std::stoull(number) - 1) : number;
  }

 private:
  std::optional<std::uint64_t> first_;
};

/// A middlebox with a configuration file, and a way to call simcoctl.
class Box {
 public:
  explicit Box(const std::string& configuration) {
    folder_.write("proxy.secret", "sesame\n");
    folder_.write("wrong.secret", "guess\n");
    folder_.write("box.secret", "box\n");
    configure(configuration);
    box_ = std::make_unique<Program>(Words{"simco-middlebox", "--config", path("box.toml")});
    port_ = box_->listening_port();
  }
  void configure(const std::string& text) { folder_.write("box.toml", text); }
  std::string path(const std::string& name) const { return folder_.file(name); }
  Program& program() { return *box_; }
  std::uint16_t port() const { return port_; }
  Words words(const Words& command, const std::string& secret = "proxy.secret") const {
    const auto name =
        secret.empty() ? Words{} : Words{"--name", "proxy", "--secret-file", path(secret)};
    return Words{"simcoctl", "--timeout", "120", "--connect",
                 "127.0.0.1:" + std::to_string(port_)} +
           name + command;
  }
  /// Identifiers in the output, and #1, #2... in `command`, are as PlainIds has them.
  Outcome ask(Words command, const std::string& secret = "proxy.secret") {
    for (auto& word : command) {
      if (word.starts_with('#')) word = ids_.real(word.substr(1));
    }
    const auto outcome = run(words(command, secret));
    return {outcome.code, ids_.plain(outcome.out), ids_.plain(outcome.err)};
  }
  /// Waits for a line of the middlebox's log.
  bool says(const std::string& text) {
    return eventually([&] { return ids_.plain(box_->err()).contains(text); });
  }

 private:
  PlainIds ids_;
  const Folder folder_{"box"};
  std::unique_ptr<Program> box_;
  std::uint16_t port_ = 0;
};

}  // namespace simco::test
