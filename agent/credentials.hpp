// Names and secrets from the command line. Secrets come from files: a command line is no secret.
#pragma once

#include <expected>
#include <string>

#include "simco/session/authentication.hpp"

namespace simco::agent {

/// The content of the file without the end of its last line, or what is wrong.
std::expected<std::string, std::string> read_secret_file(const std::string& path);

/// For the options --name and --secret-file, which go together.
std::expected<Credentials, std::string> read_credentials(const std::string& name,
                                                         const std::string& secret_file);

}  // namespace simco::agent
