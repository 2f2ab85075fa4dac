#include "middlebox/log.hpp"

#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

namespace simco::middlebox {
namespace {

/// $JOURNAL_STREAM names the device and inode of the journal's socket (systemd.exec(5)): a standard
/// error that has been redirected since is another one.
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

}  // namespace

void set_up_log(const std::string& level) {
  spdlog::set_default_logger(spdlog::stderr_logger_st("simco"));
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<Priority>('*').set_pattern(logs_to_journal() ? "%*%v"
                                                                   : "%Y-%m-%d %H:%M:%S.%e %l %v");
  spdlog::set_formatter(std::move(formatter));
  spdlog::set_level(spdlog::level::from_str(level));
}

}  // namespace simco::middlebox
