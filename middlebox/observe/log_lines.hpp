// The lines that tell the operator of changes and refusals, in the form name=value, readable for
// people and scripts, and their limit. No I/O: lines go to a sink.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "middlebox/rule/rule_change.hpp"
#include "simco/wire/instant.hpp"
#include "simco/wire/messages.hpp"

namespace simco::middlebox {

/// Returns a text from peers or configuration files in double quotes, with unusual bytes escaped:
/// always a single line. Not called `quoted`: of a std::string, that is std::quoted.
std::string in_quotes(std::string_view text);
/// Returns `text` as a single word: as it is, or quoted if it would be several.
std::string word(std::string_view text);

/// Returns the line of the audit log for a change of a rule, without a line feed. With any bytes in
/// names, it is a single line with separable fields.
std::string audit_line(const rule::Decision& decision);

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

/// Returns the line that says why it was refused, because a reply has only a code.
std::string refusal_line(const Refused& refused);

/// Lines that others can cause, at a limited rate so that they cannot fill the disk.
class LimitedLog {
 public:
  using Sink = std::function<void(const std::string& line)>;

  /// Writes up to `per_second` lines, and as many at once; 0: none. `about_left_out`: the line
  /// about those left out, with places for their number and the limit.
  LimitedLog(std::uint32_t per_second, std::string_view about_left_out, Sink sink)
      : per_second_(per_second),
        about_left_out_(about_left_out),
        sink_(std::move(sink)),
        allowance_(per_second) {}

  /// True if a line may be written now; otherwise it is counted as left out.
  bool wants(Instant now);
  /// After wants().
  void write(const std::string& line);
  /// Writes how many lines were left out since the last line, if any.
  void flush();

 private:
  std::uint32_t per_second_;
  std::string_view about_left_out_;
  Sink sink_;
  double allowance_;
  Instant filled_at_{};
  std::uint64_t left_out_ = 0;
};

/// Lines about what a LimitedLog has left out: of changes, of warnings about peers, of refusals.
inline constexpr std::string_view kChangesLeftOut = "audit event=left-out changes={} limit={}/s";
inline constexpr std::string_view kWarningsLeftOut =
    "{} further warnings about connections were left out (more than {} in a second)";
inline constexpr std::string_view kRefusalsLeftOut =
    "{} further refusals were left out (more than {} in a second)";

}  // namespace simco::middlebox
