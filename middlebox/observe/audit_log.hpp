// The audit log: a line for each change of a policy rule, in the form name=value, readable for
// people and scripts. No I/O: lines go to a sink.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "middlebox/observe/line_budget.hpp"
#include "middlebox/rule/rule_change.hpp"
#include "simco/wire/instant.hpp"

namespace simco::middlebox {

/// Returns the line without a line feed. With any bytes in names, it is a single line with
/// separable fields.
std::string audit_line(const rule::Decision& decision);

/// Writes audit lines at a limited rate, so that a peer cannot fill the disk.
class AuditLog {
 public:
  using Sink = std::function<void(const std::string& line)>;

  /// Writes up to `lines_per_second`, also in a burst; 0: none.
  AuditLog(std::uint32_t lines_per_second, Sink sink);

  /// Writes a line, or counts it if the limit is reached.
  void record(const rule::Decision& decision, Instant now);
  /// Writes how many changes were left out since the last line, if any.
  void flush();

 private:
  LineBudget budget_;
  Sink sink_;
};

}  // namespace simco::middlebox
