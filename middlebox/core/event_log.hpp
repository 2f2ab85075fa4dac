// The lines for the operator: changes of rules, peers, refusals, each kind at its own limited rate.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "middlebox/commit/pipeline.hpp"
#include "middlebox/core/connection.hpp"
#include "middlebox/observe/log_lines.hpp"

namespace simco::middlebox {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarning, kError };

class EventLog {
 public:
  using Sink = std::function<void(LogLevel level, const std::string& line)>;

  /// `audit_rate`: maximum number of audit lines per second; 0: none.
  EventLog(std::uint32_t audit_rate, const Sink& sink);

  void write(LogLevel level, const std::string& line) { sink_(level, line); }
  void debug(const Connection& connection, const std::string& what) {
    sink_(LogLevel::kDebug, std::string(connection.peer_endpoint()) + ": " + what);
  }
  /// A warning about a peer.
  void warn(std::string_view peer, std::string_view what, Instant now) {
    if (peers_.wants(now)) peers_.write(std::string(peer) + ": " + std::string(what));
  }
  void decided(const rule::Decision& decision, Instant now) {
    if (audit_.wants(now)) audit_.write(audit_line(decision));
  }
  /// A request is refused; `engine` knows why.
  void request_refused(const CommitPipeline::Refusal& refusal, const policy::PolicyEngine& engine,
                       Instant now);
  /// A message is refused by the session itself. A failed authentication has its warning.
  void message_refused(const Connection& connection, NegativeReplyCode code, Instant now);
  /// Writes how many warnings and refusals were left out since the last line, if any.
  void flush();
  void flush_audit() { audit_.flush(); }

 private:
  LimitedLog::Sink to(LogLevel level) const;

  Sink sink_;
  LimitedLog audit_;
  LimitedLog peers_;
  LimitedLog refusals_;
};

}  // namespace simco::middlebox
