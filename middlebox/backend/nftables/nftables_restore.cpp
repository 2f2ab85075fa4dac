// How the kernel's table comes to be what we think it is, at the start and when somebody else has
// changed it.
#include <net/if.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include "middlebox/backend/nftables/key_layout.hpp"
#include "middlebox/backend/nftables/limits.hpp"
#include "middlebox/backend/nftables/nftables_backend.hpp"

namespace simco::backend::nftables {
namespace {

void require_interface(const std::string& option, const std::string& name) {
  if (name.empty()) throw std::runtime_error("--backend nftables needs " + option + " NAME");
  if (::if_nametoindex(name.c_str()) != 0) return;
  throw std::runtime_error(option + ": there is no interface '" + name +
                           "' (ip link lists those there are)");
}

[[noreturn]] void explain(const std::system_error& failure) {
  switch (failure.code().value()) {
    case EPERM:
    case EACCES:
      throw std::runtime_error(
          "--backend nftables: not permitted; run as root, or with the capability CAP_NET_ADMIN");
    case EPROTONOSUPPORT:
    case EAFNOSUPPORT:
    case EOPNOTSUPP:
    case EINVAL:
    case ENOENT:
      throw std::runtime_error(
          std::string("--backend nftables: this kernel has no nf_tables, or not all that is "
                      "needed: load the modules nf_tables, nft_ct and nft_nat, or use another "
                      "kernel (") +
          failure.what() + ")");
    case EMSGSIZE:
      throw std::runtime_error(
          "--backend nftables: the kept rules are too many for one commit; name another --state "
          "to begin without them");
    default: throw std::runtime_error(std::string("--backend nftables: ") + failure.what());
  }
}

}  // namespace

// --- The start and the end -----------------------------------------------------------------------

NftablesBackend::NftablesBackend(boost::asio::io_context& io, const Options& options) try
    : options_(options),
      ruleset_(options_),
      writer_(options_, batch_),
      conntrack_(io, options_, [this](const Ends& ends) { return allowed(ends); }),
      inspection_(io, options_),
      timer_(io) {
  require_interface("--internal-if", options_.internal_if);
  require_interface("--external-if", options_.external_if);
  writer_.set_slack(kKernelTick);
  lock_.take(options_.table);
} catch (const std::system_error& failure) {
  explain(failure);
}

std::vector<ChangeResult> NftablesBackend::begin(std::span<const RuleChange> rules) try {
  const auto count = static_cast<std::uint32_t>(rules.size());
  results_.assign(count, ChangeResult::kDone);
  refused_.assign(count, std::nullopt);
  planned_at_ = std::chrono::steady_clock::now();
  for (std::uint32_t done = 0; done < count;) {
    done = plan(rules, done, count);
    if (missing_) add_store(*missing_);
  }
  operations_.clear();
  install();
  begun_ = true;
  if (options_.nat) conntrack_.forget_translated_but_for(rules);
  watch();
  return results_;
} catch (const std::system_error& failure) {
  explain(failure);
}

NftablesBackend::~NftablesBackend() {
  if (!begun_ || options_.keep_on_stop || lost_) return;
  try {
    clear();
  } catch (const std::exception& failure) {
    spdlog::error("nftables: table {} could not be removed: {}", options_.table, failure.what());
  }
}

void NftablesBackend::clear() {
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    const auto generation = socket_.generation();
    const auto found = look_at_table(socket_, options_.table, ruleset_.chains());
    if (!found.exists) return;
    batch_.begin_batch(generation);
    if (options_.own_table)
      ruleset_.remove_table(batch_);
    else
      ruleset_.clear_site_table(found, batch_);
    batch_.end_batch();
    if (socket_.commit(batch_, errors_) == Outcome::kDone) return;
  }
  throw std::runtime_error("others keep changing the ruleset");
}

void NftablesBackend::check_table(const TableState& found) const {
  if (options_.own_table) {
    if (!found.exists || found.ours) return;
    throw std::runtime_error("--table: the table inet " + options_.table +
                             " is somebody else's; name another one, or say --table-mode shared "
                             "to have its chains jump to the middlebox's");
  }
  if (!found.exists) {
    throw std::runtime_error("--table-mode shared: there is no table inet " + options_.table);
  }
  for (const auto& chain : ruleset_.entry_chains()) {
    if (found.chains.contains(chain)) continue;
    throw std::runtime_error("--table-mode shared: table inet " + options_.table +
                             " has no chain " + chain +
                             ": declare it, empty, and jump to it from your own chain");
  }
}

void NftablesBackend::install() {
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    generation_ = socket_.generation();
    const auto found = look_at_table(socket_, options_.table, ruleset_.chains());
    check_table(found);
    batch_.begin_batch(generation_);
    // All in one commit: packets meet the old table or the whole new one.
    write_frame(found);
    write_elements();
    const auto outcome = commit();
    if (outcome == Outcome::kFailed) {
      const int error = errors_.empty() ? EIO : errors_.front().error;
      throw std::system_error(error, std::generic_category(), "nf_tables table");
    }
    if (outcome == Outcome::kStale) continue;
    remember_frame();
    lost_ = false;
    return;
  }
  throw std::system_error(EBUSY, std::generic_category(), "others keep changing the ruleset");
}

void NftablesBackend::write_frame(const TableState& found) {
  if (!options_.own_table)
    ruleset_.clear_site_table(found, batch_);
  else if (found.exists)
    ruleset_.remove_table(batch_);
  ruleset_.add_frame(batch_);
  for (const auto& [shape, store] : stores_) ruleset_.add_set(shape, batch_);
  ruleset_.replace_rules(shapes(), batch_);
}

void NftablesBackend::write_elements() {
  const Instant now = std::chrono::steady_clock::now();
  std::vector<Operation> operations;
  for (const auto& [shape, store] : stores_) {
    operations.clear();
    store->for_each([&](const Key& key, Instant until) {
      if (until > now) {
        operations.push_back({store.get(), key, store->target(key), {}, store->find(key), 0});
      }
    });
    writer_.write(operations, now, {}, nullptr);
  }
}

// --- Sets ----------------------------------------------------------------------------------------

std::vector<Shape> NftablesBackend::shapes() const {
  std::vector<Shape> result;
  for (const auto& [shape, store] : stores_) result.push_back(shape);
  return result;
}

bool NftablesBackend::make_store(const Shape& shape) {
  for (int attempt = 0; attempt < kAttemptsMax && !lost_; ++attempt) {
    auto all = shapes();
    all.push_back(shape);
    batch_.begin_batch(generation_);
    ruleset_.add_set(shape, batch_);
    ruleset_.replace_rules(all, batch_);
    const auto outcome = commit();
    if (outcome == Outcome::kStale) {
      on_foreign_commit();
      continue;
    }
    if (outcome == Outcome::kFailed) {
      spdlog::error("nftables: no set {}: {}", set_name(shape),
                    std::strerror(errors_.empty() ? EIO : errors_.front().error));
      return false;
    }
    add_store(shape);
    remember_frame();
    return true;
  }
  return false;
}

void NftablesBackend::add_store(const Shape& shape) {
  auto store = std::make_unique<ElementStore>(shape, ruleset_.set_in_kernel(shape));
  empty_since_[store.get()] = planned_at_;
  stores_.emplace(shape, std::move(store));
}

void NftablesBackend::remove_empty_stores(Instant empty_before) {
  std::vector<Shape> idle;
  for (auto entry = empty_since_.begin(); entry != empty_since_.end();) {
    if (!entry->first->empty()) {
      entry = empty_since_.erase(entry);
    } else {
      if (entry->second <= empty_before) idle.push_back(entry->first->shape());
      ++entry;
    }
  }
  if (idle.empty() || inspection_.busy()) return;
  auto kept = shapes();
  std::erase_if(kept, [&](const Shape& shape) {
    return std::find(idle.begin(), idle.end(), shape) != idle.end();
  });
  batch_.begin_batch(generation_);
  ruleset_.replace_rules(kept, batch_);
  for (const auto& shape : idle) ruleset_.remove_set(shape, batch_);
  if (commit() != Outcome::kDone) return;  // another time
  for (const auto& shape : idle) {
    empty_since_.erase(stores_.at(shape).get());
    stores_.erase(shape);
  }
  recent_ = nullptr;
  remember_frame();
}

void NftablesBackend::remember_frame() {
  frame_ = look_at_table(socket_, options_.table, ruleset_.chains());
  // Somebody was faster: there is no telling whose rules these are. They will be replaced.
  if (socket_.generation() != generation_) frame_ = {};
}

// --- What others do ------------------------------------------------------------------------------

void NftablesBackend::watch() {
  timer_.expires_after(kWatchInterval);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    try {
      if (lost_ || socket_.generation() != generation_)
        on_foreign_commit();
      else
        remove_empty_stores(std::chrono::steady_clock::now() - options_.shape_idle);
      if (inspect_again_) inspect();
    } catch (const std::exception& failure) {
      spdlog::error("nftables: {}", failure.what());
    }
    watch();
  });
}

void NftablesBackend::on_foreign_commit() {
  generation_ = socket_.generation();
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
    if (there || until <= now || touched.contains(key)) return;
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
