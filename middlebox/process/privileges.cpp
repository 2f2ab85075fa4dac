// Drops capabilities, in the order in which the kernel allows it, and finds the abilities of the
// process as the user of the service.
#include "middlebox/process/privileges.hpp"

#include <grp.h>
#include <pwd.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <system_error>
#include <vector>

namespace simco::middlebox {
namespace {

struct Free {
  void operator()(void* state) const { ::cap_free(state); }
};
using CapabilityState = std::unique_ptr<std::remove_pointer_t<cap_t>, Free>;

[[noreturn]] void fail() {
  throw std::system_error(errno, std::generic_category(), "cannot drop privileges");
}

bool has(const CapabilityState& state, cap_value_t capability) {
  cap_flag_value_t value = CAP_CLEAR;
  return ::cap_get_flag(state.get(), capability, CAP_PERMITTED, &value) == 0 && value == CAP_SET;
}

}  // namespace

void drop_privileges(std::span<const int> kept) {
  const CapabilityState current(::cap_get_proc());
  const CapabilityState wanted(::cap_init());
  if (!current || !wanted) fail();
  std::vector<cap_value_t> keep;
  std::ranges::copy_if(kept, std::back_inserter(keep),
                       [&](cap_value_t capability) { return has(current, capability); });
  if (has(current, CAP_SETPCAP)) {
    for (cap_value_t capability = 0; CAP_IS_SUPPORTED(capability); ++capability) {
      const bool drop = std::ranges::find(keep, capability) == keep.end();
      if (drop && ::cap_drop_bound(capability) != 0) fail();
    }
  }
  if (::cap_reset_ambient() != 0 || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fail();
  for (const auto flag : {CAP_PERMITTED, CAP_EFFECTIVE}) {
    const auto count = static_cast<int>(keep.size());
    if (count != 0 && ::cap_set_flag(wanted.get(), flag, count, keep.data(), CAP_SET) != 0) fail();
  }
  if (::cap_set_proc(wanted.get()) != 0) fail();
}

std::string service_user() {
  namespace fs = std::filesystem;
  const std::string unit = "simco-middlebox.service";
  // The first directory that has the unit counts; every drop-in file adds to it.
  std::vector<fs::path> files;
  const std::array<fs::path, 3> folders = {"/etc/systemd/system", "/usr/lib/systemd/system",
                                           "/lib/systemd/system"};
  std::error_code ignored;
  for (const auto& folder : folders) {
    if (files.empty() && fs::exists(folder / unit, ignored)) files.push_back(folder / unit);
  }
  for (const auto& folder : folders) {
    for (const auto& entry : fs::directory_iterator(folder / (unit + ".d"), ignored)) {
      if (entry.path().extension() == ".conf") files.push_back(entry.path());
    }
  }
  std::string user;
  for (const auto& path : files) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("User=")) user = line.substr(5);
    }
  }
  return user;
}

std::optional<std::string> become(const std::string& name) {
  const passwd* user = ::getpwnam(name.c_str());
  if (user == nullptr) return "there is no user '" + name + "'";
  const auto id = user->pw_uid;
  const auto group = user->pw_gid;
  if (::initgroups(name.c_str(), group) == 0 && ::setgid(group) == 0 && ::setuid(id) == 0) {
    return std::nullopt;
  }
  return "cannot become the user '" + name + "': " + std::strerror(errno);
}

}  // namespace simco::middlebox
