// What the middlebox did to policy rules, for whom: a line for each change, in the form name=value
// that people and journalctl | grep read alike. No I/O: lines go to a sink.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "middlebox/backend/rule_change.hpp"
#include "middlebox/line_budget.hpp"
#include "simco/wire/ids.hpp"
#include "simco/wire/instant.hpp"

namespace simco::middlebox {

/// A change of a rule that has been decided.
struct AuditEntry {
  const backend::RuleChange& change;
  backend::ChangeResult result = backend::ChangeResult::kDone;
  std::string_view owner;  ///< agent that owns the rule
  GroupId group;
  std::string_view by;    ///< agent that asked for it; empty: nobody, its lifetime was over
  std::string_view peer;  ///< its address
  PolicyRuleId ended_by;  ///< disable rule that ended it (RFC 4540 section 8.8); 0: none did
};

/// The line, without its end. Whatever is in names, it is one line, and its fields can be told.
std::string audit_line(const AuditEntry& entry);

/// Writes audit lines, no more than some in a second: what a peer can cause must not fill a disk.
class AuditLog {
 public:
  using Sink = std::function<void(const std::string& line)>;

  /// Up to `lines_per_second`, and as many at once; 0: none at all.
  AuditLog(std::uint32_t lines_per_second, Sink sink);

  void record(const AuditEntry& entry, Instant now);
  /// Says how many changes have gone unrecorded since the last line, if any.
  void flush();

 private:
  LineBudget budget_;
  Sink sink_;
};

}  // namespace simco::middlebox
