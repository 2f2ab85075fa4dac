// The outcomes of an agent's operations, before they have their types.
#pragma once

#include <boost/system/error_code.hpp>
#include <cstdint>
#include <functional>
#include <optional>

#include "simco/session/agent_transactions.hpp"
#include "simco/session/rule_keeper.hpp"
#include "simco/wire/messages.hpp"

namespace simco::agent {

/// A rule that a Keeper holds.
using HeldRule = StrongId<struct HeldRuleTag, std::uint64_t>;

/// The outcome of an operation before it has its type: one of these, unless it failed. Valid during
/// the call that hands it over.
struct Outcome {
  const Body* body = nullptr;                  ///< positive reply to a request
  const Capabilities* capabilities = nullptr;  ///< of an opened session
  const RuleEvent* event = nullptr;
  std::optional<HeldRule> held = {};  ///< beside the reply that made the rule
  std::optional<RuleLoss> loss = {};
};

/// Receives an operation's end, once.
using Completion = std::move_only_function<void(const boost::system::error_code&, const Outcome&)>;

}  // namespace simco::agent
