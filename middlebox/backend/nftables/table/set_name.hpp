// The names of our sets in the kernel.
#pragma once

#include <string>

#include "middlebox/backend/match/mask.hpp"
#include "middlebox/backend/nftables/options.hpp"

namespace simco::backend::nftables {

using match::Mask;

/// Returns the name of the set that has the elements of `mask`, in our own table.
std::string set_name(const Mask& mask);

/// Returns the name that the kernel knows that set by.
inline std::string set_in_kernel(const Options& options, const Mask& mask) {
  return name_in_kernel(options, set_name(mask));
}

}  // namespace simco::backend::nftables
