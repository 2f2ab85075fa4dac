#include "middlebox/backend/nftables/elements/drift.hpp"

#include "middlebox/backend/match/key_layout.hpp"
#include "middlebox/backend/nftables/limits.hpp"

namespace simco::backend::nftables {

std::string octets_of(const match::Mask& mask, const Key& key) {
  const auto octets = [&](bool end) {
    const auto laid_out = match::key_octets(mask, key, end);
    return std::string(reinterpret_cast<const char*>(laid_out.octets.data()), laid_out.size);
  };
  return mask.intervals ? octets(false) + octets(true) : octets(false);
}

Drift compare(ElementStore& store, SetKeys in_kernel, const TouchedKeys& touched, Instant now) {
  const auto& mask = store.mask();
  Drift drift;
  store.for_each([&](const Key& key, Instant expires_at) {
    const bool there = in_kernel.erase(octets_of(mask, key)) != 0;
    // The kernel may have ended it already; then no other program has removed it.
    const bool ending = expires_at <= now + kKernelTick;
    if (there || ending || touched.contains(key)) return;
    drift.missing.push_back({&store, key, store.target(key), {}, store.find(key)});
  });
  for (const Key& key : touched) in_kernel.erase(octets_of(mask, key));
  for (const auto& octets : in_kernel) {
    const auto size = mask.intervals ? octets.size() / 2 : octets.size();
    drift.foreign.push_back({octets.substr(0, size), octets.substr(size)});
  }
  return drift;
}

}  // namespace simco::backend::nftables
