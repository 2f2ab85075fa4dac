// Where rules are enforced: the kernel, or nowhere. A backend sees rule changes and nothing else of
// the middlebox.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "middlebox/rule/rule_change.hpp"
#include "simco/wire/attributes.hpp"
#include "simco/wire/instant.hpp"

namespace simco::backend {

/// A counter, as Prometheus knows it. Figures of the same name stand together, and have the same
/// labels with other values.
struct Figure {
  std::string name;                                         ///< ends in _total
  std::vector<std::pair<std::string, std::string>> labels;  ///< names and values, from fixed sets
  std::uint64_t value = 0;                                  ///< never less than before
  std::string help;                                         ///< a sentence
};

using Figures = std::vector<Figure>;

using rule::ChangeResult;
using rule::RuleChange;

/// The abilities of a packet filter with both IP versions and every wildcard.
inline Capabilities full_packet_filter() {
  Capabilities all;
  all.packet_filter = true;
  all.internal_wildcards = all.external_wildcards = all.port_wildcards = true;
  all.internal_versions = all.external_versions = 3;
  return all;
}

class Backend {
 public:
  /// Told when a batch is done.
  class Client {
   public:
    /// A result per change of the batch, in its order.
    virtual void on_applied(std::span<const ChangeResult> results) = 0;

   protected:
    ~Client() = default;
  };

  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  /// Name as --backend has it.
  virtual std::string_view name() const = 0;
  /// Its abilities: filtering, wildcards, IP versions. NAT and lifetimes are the middlebox's.
  virtual Capabilities capabilities() const = 0;
  /// Asks the enforcing system for an answer: false if there is none.
  virtual bool alive() { return true; }
  /// Returns its counts since begin(), except traffic(). Takes some microseconds.
  virtual Figures figures() { return {}; }
  /// Whether it counts the traffic of each rule.
  virtual bool counts() const { return false; }
  /// Returns the traffic that each of `rules`, which are in force, has let pass or blocked; nullopt
  /// for a rule of which it enforces nothing, and without counts(). At most kTrafficRulesMax rules;
  /// takes some microseconds for each.
  virtual std::vector<std::optional<rule::RuleTraffic>> traffic(
      std::span<const rule::RuleRecord> rules) {
    return std::vector<std::optional<rule::RuleTraffic>>(rules.size());
  }
  /// Begins to enforce: `rules`, all to be added, in place of the rules of a previous process, so
  /// that traffic which both let pass sees no gap. A result for each. To be called once, before
  /// apply(). If it cannot enforce anything, it changes nothing and throws std::runtime_error with
  /// a sentence that names the remedy.
  virtual std::vector<ChangeResult> begin(std::span<const RuleChange> rules) = 0;
  /// False while it cannot enforce anything, as when others have taken its place in the kernel.
  virtual bool enforces() { return true; }
  /// From the first call on, packets pass by rules, or by flows that need none, only before
  /// `until`, even if this process stands still. Instant::max(): always. Not while a batch is under
  /// way.
  virtual void lease(Instant until) { static_cast<void>(until); }
  /// Carries out `batch` and then calls client.on_applied() exactly once, on the same thread, from
  /// inside this call or later. `batch` stays valid until then. One batch at a time. Each change is
  /// atomic and fails alone.
  virtual void apply(std::span<const RuleChange> batch, Client& client) = 0;
  /// Removes the rules of a previous process. To be called in place of begin(), and throws as that
  /// does.
  virtual void clear() {}
  /// Orderly end: removes its rules, unless told to keep them. The last call. Without it, after an
  /// exception for example, the rules stay as after a kill: closed, until the next start.
  virtual void end() {}
};

}  // namespace simco::backend
