// Requests, and their names in the report of a fault.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "simco/wire/messages.hpp"
#include "tests/simulator/model.hpp"

namespace simco::simulator {

std::string text(std::uint32_t pid);
/// The name of a message, with the code of a negative reply.
std::string text(const Body& body);
std::string text(const test::Model::Verdict& verdict);
/// As text(), with the rule and the lifetime that it is about.
std::string describe(const Body& body);

/// The rule that a PLC, PEA or PRS names; 0 with other requests.
std::uint32_t pid_asked_about(const Body& request);
/// The lifetime that `who` gets if the request is granted.
Lifetime granted_to(const std::string& who, const Body& request);
/// The group that a PER or PRR names, if any.
std::optional<GroupId> group_asked_for(const Body& request);
/// The same request, for a group of its own.
Body without_group(Body request);

}  // namespace simco::simulator
