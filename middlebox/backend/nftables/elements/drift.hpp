// Finds missing and foreign elements of a set in the kernel after others have changed it. Pure.
#pragma once

#include <absl/container/flat_hash_set.h>

#include <string>
#include <vector>

#include "middlebox/backend/nftables/elements/operation.hpp"
#include "simco/wire/instant.hpp"

namespace simco::backend::nftables {

/// Elements as the kernel has them: octets of the key, followed by those of its end if the set has
/// intervals.
using SetKeys = absl::flat_hash_set<std::string>;
/// Returns such octets of an element of the set of `mask`.
std::string octets_of(const match::Mask& mask, const Key& key);
/// Elements of a set that have changed while it was read.
using TouchedKeys = absl::flat_hash_set<Key>;

/// A key as octets of a message.
struct RawKey {
  std::string key;
  std::string end;  ///< of an interval
};

struct Drift {
  std::vector<Operation> missing;  ///< to be added
  std::vector<RawKey> foreign;     ///< to be removed
};

/// Returns how `in_kernel`, which was read until `now`, differs from `store`. Elements that are
/// `touched`, or about to end, may be there or not.
Drift compare(ElementStore& store, SetKeys in_kernel, const TouchedKeys& touched, Instant now);

}  // namespace simco::backend::nftables
