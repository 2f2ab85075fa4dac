#include "middlebox/backend/match/tuple_space.hpp"

#include <algorithm>
#include <utility>

#include "simco/wire/assert.hpp"

namespace simco::backend::match {

ElementStore* TupleSpace::find(const Mask& mask) {
  if (recent_ != nullptr && recent_->mask() == mask) return recent_;
  const auto found = stores_.find(mask);
  if (found == stores_.end()) return nullptr;
  recent_ = found->second.get();
  return recent_;
}

ElementStore& TupleSpace::add(const Mask& mask, rule::AgentId introduced_by) {
  const auto [entry, added] =
      stores_.emplace(mask, std::make_unique<ElementStore>(mask, introduced_by));
  SIMCO_ASSERT(added);
  return *entry->second;
}

void TupleSpace::remove(const Mask& mask) {
  const auto found = stores_.find(mask);
  SIMCO_ASSERT(found != stores_.end() && found->second->empty());
  stores_.erase(found);
  recent_ = nullptr;
}

std::vector<Mask> TupleSpace::masks() const {
  std::vector<Mask> result;
  for (const auto& [mask, store] : stores_) result.push_back(mask);
  return result;
}

bool TupleSpace::allows(const Ends& ends) const {
  return std::ranges::any_of(stores_, [&](const auto& entry) {
    const auto& [mask, store] = entry;
    if (mask.purpose != Purpose::kEnable || mask.version != ends.version) return false;
    if (!mask.intervals) return ports_match(mask, ends) && store->has(key_of(mask, ends));
    bool hit = false;
    store->for_each(
        [&, point = point_of(ends)](const Key& key, Instant) { hit |= overlap(key, point); });
    return hit;
  });
}

bool TupleSpace::translates_destination(const Ends& ends, bool from_outside) const {
  const auto purpose = from_outside ? Purpose::kDestinationOutside : Purpose::kDestinationInside;
  const auto port = from_outside ? ends.internal_port : ends.external_port;
  return std::ranges::any_of(stores_, [&](const auto& entry) {
    const auto& [mask, store] = entry;
    if (mask.purpose != purpose || mask.version != ends.version) return false;
    if (mask.last_port != 0 && (port < mask.first_port || port > mask.last_port)) return false;
    return store->has(key_of(mask, ends));
  });
}

bool TupleSpace::translates(const Translation& flow) const {
  const auto purpose = flow.begun_outside ? Purpose::kDestinationOutside : Purpose::kSourceOutside;
  Ends met = flow.ends;  // as the data path meets the first packet
  Target wanted{flow.outside, flow.outside_port};
  if (flow.begun_outside) {
    std::swap(met.internal, wanted.address);
    std::swap(met.internal_port, wanted.port);
  }
  return std::ranges::any_of(stores_, [&](const auto& entry) {
    const auto& [mask, store] = entry;
    if (mask.purpose != purpose || mask.version != met.version) return false;
    const auto port = met.internal_port;
    if (mask.last_port != 0 && (port < mask.first_port || port > mask.last_port)) return false;
    const Key key = key_of(mask, met);
    if (!store->has(key)) return false;
    const Target target = store->target(key);
    return target.address == wanted.address && (!mask.target_port || target.port == wanted.port);
  });
}

}  // namespace simco::backend::match
