// Where rules are enforced: the kernel, or nowhere. A backend sees rule changes and nothing else of
// the middlebox.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "middlebox/backend/figure.hpp"
#include "middlebox/rule/rule_change.hpp"
#include "middlebox/rule/rule_traffic.hpp"
#include "simco/wire/attributes.hpp"

namespace simco::backend {

using rule::ChangeResult;
using rule::RuleChange;

/// What a packet filter that knows both IP versions and every wildcard can do.
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
    /// One result per change of the batch, in its order.
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
  /// What it can enforce: filtering, wildcards, IP versions. What the middlebox does with it (NAT,
  /// lifetimes) is not its business.
  virtual Capabilities capabilities() const = 0;
  /// Makes sure that it can reach what enforces the rules, by asking it: false if it cannot.
  virtual bool alive() { return true; }
  /// Returns what it has counted since begin(), beside traffic(). Takes some microseconds.
  virtual Figures figures() { return {}; }
  /// Whether it counts what each rule lets pass.
  virtual bool counts() const { return false; }
  /// Returns what each of `rules`, which are in force, has let pass or blocked; nullopt for a rule
  /// that it cannot say that of, because it enforces nothing of it or is not counts(). At most
  /// kTrafficRulesMax rules; takes some microseconds for each.
  virtual std::vector<std::optional<rule::RuleTraffic>> traffic(
      std::span<const rule::RuleRecord> rules) {
    return std::vector<std::optional<rule::RuleTraffic>>(rules.size());
  }
  /// Begins to enforce: `rules`, all to be added, in place of what a previous process left
  /// behind, so that traffic which they let pass before and after sees no gap. One result for each.
  /// To be called once, before apply(). Throws std::runtime_error with a sentence that says what to
  /// do if it cannot enforce anything, and has then changed nothing.
  virtual std::vector<ChangeResult> begin(std::span<const RuleChange> rules) = 0;
  /// Carries out `batch` and then calls client.on_applied() exactly once, on the same thread, from
  /// inside this call or later. `batch` stays valid until then. One batch at a time. Each change is
  /// atomic and fails alone.
  virtual void apply(std::span<const RuleChange> batch, Client& client) = 0;
  /// Gives up what a previous process left enforced. To be called in place of begin(), and throws
  /// as that does.
  virtual void clear() {}
  /// Orderly end: gives up what it enforces, unless told to keep it. The last call. Without it,
  /// after an exception for example, what is enforced stays as after a kill: closed, until the next
  /// start.
  virtual void end() {}
};

}  // namespace simco::backend
