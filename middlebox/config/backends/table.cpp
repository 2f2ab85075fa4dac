#include "middlebox/config/backends/table.hpp"

#include <linux/capability.h>

#include <array>

#include "middlebox/config/backends/fast_path_type.hpp"
#include "middlebox/config/backends/null_type.hpp"

namespace simco::middlebox {

BackendTable backend_table() {
  static constexpr std::array kNetAdmin = {CAP_NET_ADMIN};
  static constexpr std::array kRows = {
      BackendRow{"null", make_null_type},
      BackendRow{"nftables", make_nftables_with_fast_path, kNetAdmin, true},
  };
  return kRows;
}

}  // namespace simco::middlebox
