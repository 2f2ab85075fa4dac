// What the middlebox did to policy rules, for whom: a line for each change, in the form name=value
// that people and journalctl | grep read alike. No I/O: lines go to a sink.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "middlebox/line_budget.hpp"
#include "middlebox/rule/rule_change.hpp"
#include "simco/wire/instant.hpp"

namespace simco::middlebox {

/// The line, without its end. Whatever is in names, it is one line, and its fields can be told.
std::string audit_line(const rule::Decision& decision);

/// Writes audit lines, no more than some in a second: what a peer can cause must not fill a disk.
class AuditLog {
 public:
  using Sink = std::function<void(const std::string& line)>;

  /// Up to `lines_per_second`, and as many at once; 0: none at all.
  AuditLog(std::uint32_t lines_per_second, Sink sink);

  void record(const rule::Decision& decision, Instant now);
  /// Says how many changes have gone unrecorded since the last line, if any.
  void flush();

 private:
  LineBudget budget_;
  Sink sink_;
};

}  // namespace simco::middlebox
