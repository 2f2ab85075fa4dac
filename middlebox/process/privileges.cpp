#include "middlebox/process/privileges.hpp"

#include <sys/capability.h>
#include <sys/prctl.h>

#include <array>
#include <cerrno>
#include <exception>
#include <memory>
#include <system_error>
#include <thread>

namespace simco::middlebox {
namespace {

struct Free {
  void operator()(void* state) const { ::cap_free(state); }
};
using State = std::unique_ptr<std::remove_pointer_t<cap_t>, Free>;

[[noreturn]] void fail() {
  throw std::system_error(errno, std::generic_category(), "cannot drop privileges");
}

bool has(const State& state, cap_value_t capability) {
  cap_flag_value_t value = CAP_CLEAR;
  return ::cap_get_flag(state.get(), capability, CAP_PERMITTED, &value) == 0 && value == CAP_SET;
}

}  // namespace

void drop_privileges(bool keep_net_admin) {
  const State current(::cap_get_proc());
  const State wanted(::cap_init());
  if (!current || !wanted) fail();
  const bool keep = keep_net_admin && has(current, CAP_NET_ADMIN);
  if (has(current, CAP_SETPCAP)) {
    for (cap_value_t capability = 0; CAP_IS_SUPPORTED(capability); ++capability) {
      if (!(keep && capability == CAP_NET_ADMIN) && ::cap_drop_bound(capability) != 0) fail();
    }
  }
  if (::cap_reset_ambient() != 0 || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fail();
  if (keep) {
    const std::array<cap_value_t, 1> kept = {CAP_NET_ADMIN};
    for (const auto flag : {CAP_PERMITTED, CAP_EFFECTIVE}) {
      if (::cap_set_flag(wanted.get(), flag, 1, kept.data(), CAP_SET) != 0) fail();
    }
  }
  if (::cap_set_proc(wanted.get()) != 0) fail();
}

void run_without_privileges(const std::function<void()>& work) {
  std::exception_ptr failure;
  std::thread([&] {
    try {
      drop_privileges(false);
      work();
    } catch (...) {
      failure = std::current_exception();
    }
  }).join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace simco::middlebox
