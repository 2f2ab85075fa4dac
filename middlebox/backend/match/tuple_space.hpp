// All elements, mask by mask: a tuple space (see mask.hpp). A packet is looked up once in each mask
// that is in use.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "middlebox/backend/match/element_store.hpp"

namespace simco::backend::match {

/// Both ends of a translated flow, and the outside tuple of the internal end (A2).
struct Translation {
  Ends ends;
  std::array<std::byte, 16> outside{};
  std::uint16_t outside_port = 0;
  bool begun_outside = false;
};

/// Element stores by their masks.
class TupleSpace {
 public:
  using Stores = std::map<Mask, std::unique_ptr<ElementStore>>;

  /// Returns the store of `mask`, null if there is none.
  ElementStore* find(const Mask& mask);
  /// Adds an empty store for a mask that has none yet.
  ElementStore& add(const Mask& mask, rule::AgentId introduced_by);
  /// Removes the store of `mask`, which must exist and be empty.
  void remove(const Mask& mask);

  const Stores& stores() const { return stores_; }
  /// Returns all masks in use, in the order of stores().
  std::vector<Mask> masks() const;

  /// Returns whether an enable rule lets such packets pass, whichever way they travel.
  bool allows(const Ends& ends) const;
  /// Returns whether a rule translates the flow's first packet as it is translated.
  bool translates(const Translation& flow) const;
  /// Returns whether a rule translates the destination of such packets, which come from outside or
  /// from inside, and have these ends before translation.
  bool translates_destination(const Ends& ends, bool from_outside) const;

 private:
  Stores stores_;
  ElementStore* recent_ = nullptr;  ///< found last
};

}  // namespace simco::backend::match
