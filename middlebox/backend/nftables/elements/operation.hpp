// A change of an element of a set.
#pragma once

#include <cstdint>

#include "middlebox/backend/match/element_store.hpp"

namespace simco::backend::nftables {

using match::ElementStore;
using match::Holders;
using match::Key;
using match::Target;

/// A change of an element: its holders before and after.
struct Operation {
  ElementStore* store;  ///< of the element's set
  Key key;
  Target target;  ///< of a translation
  Holders before;
  Holders after;             ///< the first PID becomes the element's comment
  std::uint32_t change = 0;  ///< for which change of the batch
  bool uncertain = false;    ///< whether the kernel still has the element is not known
};

}  // namespace simco::backend::nftables
