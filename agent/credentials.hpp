// Names and secrets from the command line. Secrets come from files, because a command line is
// visible to other users.
#pragma once

#include <expected>
#include <string>

#include "simco/session/authentication.hpp"

namespace simco::agent {

/// Returns the content of the file without a line break at its end, or an error message.
std::expected<std::string, std::string> read_secret_file(const std::string& path);

/// Reads the credentials for the options --name and --secret-file, of which either both or none
/// must be given. Returns an error message on failure.
std::expected<Credentials, std::string> read_credentials(const std::string& name,
                                                         const std::string& secret_file);

}  // namespace simco::agent
