// The log with spdlog, which only this file knows. A sink hands each line to a thread that writes
// it.
#include "simco/log/log.hpp"

#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "simco/log/line_writer.hpp"

namespace simco::log {
namespace {

/// $JOURNAL_STREAM names the device and inode of the journal's socket (systemd.exec(5)): a
/// redirected standard error has others.
bool logs_to_journal() {
  const char* stream = std::getenv("JOURNAL_STREAM");
  struct stat status{};
  if (stream == nullptr || ::fstat(STDERR_FILENO, &status) != 0) return false;
  return fmt::format("{}:{}", status.st_dev, status.st_ino) == stream;
}

/// syslog(3)'s number of the level, as <N>.
class Priority final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    constexpr char kOfLevel[] = {'7', '7', '6', '4', '3', '2', '7'};
    for (const char c : {'<', kOfLevel[message.level], '>'}) out.push_back(c);
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<Priority>();
  }
};

/// Used by the loop's thread alone, like everything that logs.
class Sink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  explicit Sink(const std::function<void()>& begin) : writer_(STDERR_FILENO, begin) {}
  void put_plain(const std::string& line) { writer_.put(line); }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (lost_ != 0) {
      const auto text =
          fmt::format("{} log lines were lost because standard error was not read", lost_);
      const spdlog::details::log_msg note(message.time, {}, {}, spdlog::level::warn, text);
      if (put(note)) lost_ = 0;
    }
    if (!put(message)) ++lost_;
  }
  void flush_() override {}
  bool put(const spdlog::details::log_msg& message) {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    return writer_.put(fmt::to_string(line));
  }

  LineWriter writer_;
  std::uint64_t lost_ = 0;
};

spdlog::level::level_enum of(Level level) { return static_cast<spdlog::level::level_enum>(level); }

}  // namespace

bool writes(Level level) { return spdlog::default_logger_raw()->should_log(of(level)); }

void write(Level level, std::string_view text) {
  spdlog::default_logger_raw()->log(of(level), text);
}

void set_level(const std::string& level) { spdlog::set_level(spdlog::level::from_str(level)); }

void set_up(const std::string& level, const std::function<void()>& begin) {
  spdlog::set_default_logger(
      std::make_shared<spdlog::logger>("simco", std::make_shared<Sink>(begin)));
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<Priority>('*').set_pattern(logs_to_journal() ? "%*%v"
                                                                   : "%Y-%m-%d %H:%M:%S.%e %l %v");
  spdlog::set_formatter(std::move(formatter));
  set_level(level);
}

void shut_down(const std::string& line) {
  if (!line.empty()) {
    static_cast<Sink&>(*spdlog::default_logger()->sinks().front()).put_plain(line + "\n");
  }
  spdlog::shutdown();
}

}  // namespace simco::log
