#include "agent/credentials.hpp"

#include "simco/cli/text_file.hpp"
#include "simco/wire/limits.hpp"

namespace simco::agent {

std::expected<std::string, std::string> read_secret_file(const std::string& path) {
  auto secret = cli::read_text_file(path);
  if (!secret) {
    return std::unexpected("cannot read secret file '" + path + "': " + secret.error());
  }
  if (secret->ends_with('\n')) secret->pop_back();
  if (secret->empty()) return std::unexpected("secret file '" + path + "' is empty");
  return secret;
}

std::expected<Credentials, std::string> read_credentials(const std::string& name,
                                                         const std::string& secret_file) {
  if (name.empty() || secret_file.empty()) {
    return std::unexpected("--name and --secret-file must be given together");
  }
  if (name.size() > kOwnerSizeMax)
    return std::unexpected("--name must not exceed " + std::to_string(kOwnerSizeMax) + " bytes");
  auto secret = read_secret_file(secret_file);
  if (!secret) return std::unexpected("--secret-file: " + secret.error());
  return Credentials{name, std::move(*secret)};
}

}  // namespace simco::agent
