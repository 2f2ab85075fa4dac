// The log of refusals: a line for each negative reply that says why, because a reply has only a
// code. No I/O: lines go to a sink.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "middlebox/observe/line_budget.hpp"
#include "middlebox/rule/rule_change.hpp"
#include "simco/wire/messages.hpp"
#include "simco/wire/reply_code.hpp"

namespace simco::middlebox {

/// Returns the subject of a policy rule request, as `name=value ...` with a space before each.
std::string request_fields(const Body& request);
/// The same for a request whose change has been planned.
std::string request_fields(const rule::RuleChange& change);

/// A negative reply. Valid during a call.
struct Refused {
  std::string_view request;  ///< the RFC's name of the request, such as "PER"; empty: not known
  NegativeReplyCode code{};
  std::string_view reason;  ///< empty: the code says it all
  std::string_view fields;  ///< see request_fields()
  std::string_view by;      ///< the agent; empty: it has not authenticated
  std::string_view peer;    ///< its address and port
};

/// Returns the line without a line feed.
std::string refusal_line(const Refused& refused);

/// Writes lines at a limited rate, so that a peer cannot fill the disk.
class RefusalLog {
 public:
  using Sink = std::function<void(const std::string& line)>;

  RefusalLog(std::uint32_t lines_per_second, Sink sink)
      : budget_(lines_per_second), sink_(std::move(sink)) {}

  /// True if a line may be written now; otherwise it is counted as left out. The reason need not be
  /// looked for then.
  bool wants(Instant now) { return budget_.take(now); }
  /// After wants().
  void write(const Refused& refused) {
    flush();
    sink_(refusal_line(refused));
  }
  /// Writes how many refusals were left out since the last line, if any.
  void flush();

 private:
  LineBudget budget_;
  Sink sink_;
};

}  // namespace simco::middlebox
