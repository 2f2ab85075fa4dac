// The program's log: lines with a level, their destination and their format. Used by one thread,
// the event loop's; spdlog behind it is known in log.cpp only.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace simco::log {

/// As spdlog numbers them.
enum class Level { kDebug = 1, kInfo, kWarning, kError };

/// Whether lines of `level` are written.
bool writes(Level level);
void write(Level level, std::string_view text);
/// Writes lines of `level` (debug, info, warning or error) and above.
void set_level(const std::string& level);

/// Formats a line as fmt::format does, if lines of `level` are written.
template <class... Args>
void write(Level level, fmt::format_string<Args...> format, Args&&... args) {
  if (writes(level))
    write(level, std::string_view(fmt::vformat(format, fmt::make_format_args(args...))));
}

inline void debug(std::string_view text) { write(Level::kDebug, text); }
inline void info(std::string_view text) { write(Level::kInfo, text); }
inline void warn(std::string_view text) { write(Level::kWarning, text); }
inline void error(std::string_view text) { write(Level::kError, text); }
template <class First, class... Rest>
void debug(fmt::format_string<First, Rest...> format, First&& first, Rest&&... rest) {
  write(Level::kDebug, format, std::forward<First>(first), std::forward<Rest>(rest)...);
}
template <class First, class... Rest>
void info(fmt::format_string<First, Rest...> format, First&& first, Rest&&... rest) {
  write(Level::kInfo, format, std::forward<First>(first), std::forward<Rest>(rest)...);
}
template <class First, class... Rest>
void warn(fmt::format_string<First, Rest...> format, First&& first, Rest&&... rest) {
  write(Level::kWarning, format, std::forward<First>(first), std::forward<Rest>(rest)...);
}
template <class First, class... Rest>
void error(fmt::format_string<First, Rest...> format, First&& first, Rest&&... rest) {
  write(Level::kError, format, std::forward<First>(first), std::forward<Rest>(rest)...);
}

/// Sets up logging to standard error. Lines have the time or, if standard error is the systemd
/// journal, a priority in the journal's format (sd-daemon(3)) instead. Logging never blocks: lines
/// that standard error does not accept in time are lost, and a later line says how many. A thread
/// writes them, which calls `begin` first if it is not empty: to give up rights, say.
void set_up(const std::string& level, const std::function<void()>& begin);

/// Writes `line` unchanged, if it is not empty, and ends the log. Must be the last call.
void shut_down(const std::string& line);

}  // namespace simco::log
