// Drops privileges after the start.
#pragma once

#include <optional>
#include <span>
#include <string>

namespace simco::middlebox {

/// Drops every capability permanently, except those of `kept` that the process has. Child processes
/// get none. Applies to the calling thread and the threads that it starts later. Throws
/// std::system_error.
void drop_privileges(std::span<const int> kept = {});

/// Returns the user of the installed service: User= of its unit and the unit's drop-in files; empty
/// if there is none.
std::string service_user();

/// Becomes the user `name` with all its groups, permanently. Returns a complaint, or nothing.
std::optional<std::string> become(const std::string& name);

}  // namespace simco::middlebox
