// What others do to the ruleset: noticing it, and putting right what they have changed of ours.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <system_error>

#include "middlebox/backend/nftables/key_layout.hpp"
#include "middlebox/backend/nftables/limits.hpp"
#include "middlebox/backend/nftables/nftables_backend.hpp"

namespace simco::backend::nftables {

void NftablesBackend::watch() {
  timer_.expires_after(kWatchInterval);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    try {
      look_after_table();
      if (inspect_again_) inspect();
    } catch (const std::exception& failure) {
      spdlog::error("nftables: {}", failure.what());
    }
    watch();
  });
}

void NftablesBackend::look_after_table() {
  lock_.drain();
  const bool untouched = claimed_ ? look_for_table(socket_, options_.table).same_table(frame_)
                                  : generation_ != 0 && socket_.generation() == generation_;
  if (lost_ || !untouched)
    on_foreign_commit();
  else
    remove_empty_stores(std::chrono::steady_clock::now() - options_.shape_idle);
}

void NftablesBackend::on_foreign_commit() {
  if (!claimed_) generation_ = socket_.generation();
  const auto found = look_at_table(socket_, options_.table, ruleset_.chains());
  inspect_again_ = true;
  if (!lost_ && found.same_frame(frame_)) return;
  if (!lost_) {
    spdlog::warn("nftables: somebody else has {} table inet {}",
                 found.exists ? "changed" : "removed", options_.table);
  }
  try {
    install();
    spdlog::warn("nftables: table inet {} is restored", options_.table);
    inspect_again_ = false;
    if (options_.nat) conntrack_.forget_untranslated();
  } catch (const std::exception& failure) {
    if (!lost_) spdlog::error("nftables: no rule can be enforced: {}", failure.what());
    lost_ = true;
  }
}

void NftablesBackend::inspect() {
  const Instant now = std::chrono::steady_clock::now();
  if (inspection_.busy() || now < inspect_not_before_) return;
  inspect_again_ = false;
  inspection_began_ = now;
  touched_.clear();
  inspection_.start(
      shapes(),
      [this](const Shape& shape, const Inspection::Keys& keys) {
        try {
          compare(shape, keys);
        } catch (const std::system_error& failure) {
          spdlog::error("nftables: {}", failure.what());
          inspect_again_ = true;
        }
      },
      [this] {
        const Instant done = std::chrono::steady_clock::now();
        inspect_not_before_ = done + kInspectionShare * (done - inspection_began_);
      });
}

void NftablesBackend::compare(const Shape& shape, const Inspection::Keys& keys) {
  const auto found = stores_.find(shape);
  if (found == stores_.end()) return;
  ElementStore& store = *found->second;
  const Instant now = std::chrono::steady_clock::now();
  const auto& touched = touched_[shape];
  const auto octets_of = [&](const Key& key) {
    const auto first = key_octets(shape, key);
    std::string octets(reinterpret_cast<const char*>(first.octets.data()), first.size);
    if (!shape.intervals) return octets;
    const auto last = key_octets(shape, key, true);
    return octets.append(reinterpret_cast<const char*>(last.octets.data()), last.size);
  };
  Inspection::Keys foreign = keys;
  std::vector<Operation> missing;
  store.for_each([&](const Key& key, Instant until) {
    const bool there = foreign.erase(octets_of(key)) != 0;
    if (there || until <= now + kKernelTick || touched.contains(key)) return;
    missing.push_back({&store, key, store.target(key), {}, store.find(key), 0});
  });
  for (const Key& key : touched) foreign.erase(octets_of(key));
  if (!missing.empty()) {
    spdlog::warn("nftables: {} elements that somebody else has removed from set {} are restored",
                 missing.size(), store.name());
  }
  if (!foreign.empty()) {
    spdlog::warn("nftables: {} elements that nobody asked for are removed from set {}",
                 foreign.size(), store.name());
  }
  if (!missing.empty()) {
    batch_.begin_batch(generation_);
    writer_.write(missing, now, {}, nullptr);
    if (commit() != Outcome::kDone) inspect_again_ = true;
  }
  for (const auto& octets : foreign) {
    const auto size = shape.intervals ? octets.size() / 2 : octets.size();
    batch_.begin_batch(generation_);
    writer_.write_removal(store, octets.substr(0, size), octets.substr(size));
    if (commit() == Outcome::kStale) inspect_again_ = true;
  }
}

}  // namespace simco::backend::nftables
