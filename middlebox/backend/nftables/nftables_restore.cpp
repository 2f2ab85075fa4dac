// How the kernel's table comes to be what we think it is, at the start and when somebody else has
// changed it.
#include <net/if.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <thread>

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
      conntrack_(io, options_, *this),
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
  plan_restored(rules);
  operations_.clear();
  try_kernel();
  install();
  begun_ = true;
  if (options_.nat) conntrack_.forget_translated_but_for(rules);
  watch();
  return results_;
} catch (const std::system_error& failure) {
  explain(failure);
}

void NftablesBackend::end() {
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

bool NftablesBackend::kernel_takes(Trial trial) {
  batch_.begin_batch(0);
  (ruleset_.*trial)(batch_);
  batch_.end_batch();
  const bool taken = socket_.commit(batch_, errors_) == Outcome::kDone;
  const bool forbidden = !taken && !errors_.empty() && errors_.front().error == EPERM;
  if (forbidden) throw std::system_error(EPERM, std::generic_category(), "nf_tables");
  return taken;
}

void NftablesBackend::try_kernel() {
  claimed_ = options_.own_table && options_.claim_table && kernel_takes(&Ruleset::try_to_claim);
  if (options_.own_table && options_.claim_table && !claimed_) {
    spdlog::info(
        "nftables: this kernel cannot claim a table (Linux 6.9 can): others can change or flush "
        "it, and packets pass until it is restored");
  }
  options_.check_sources = kernel_takes(&Ruleset::try_to_check_sources);
  if (!options_.check_sources) {
    spdlog::warn(
        "nftables: this kernel cannot look up routes (load the modules nft_fib_ipv4, nft_fib_ipv6 "
        "and nft_fib_inet): rules for many external hosts let forged internal addresses in, "
        "unless rp_filter is on");
  }
}

void NftablesBackend::install() {
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    if (!install_once(attempt >= kStaleMax)) continue;
    remember_frame();
    lost_ = false;
    return;
  }
  if (!begun_ && (look_for_table(socket_, options_.table).flags & kTableOwned) != 0) {
    throw std::runtime_error("--table: the table inet " + options_.table +
                             " belongs to another process (nft list ruleset names it)");
  }
  throw std::system_error(EBUSY, std::generic_category(), "others keep changing the ruleset");
}

bool NftablesBackend::install_once(bool whatever_there_is) {
  const auto generation = socket_.generation();
  const auto found = look_at_table(socket_, options_.table, ruleset_.chains());
  check_table(found);
  whatever_there_is &= options_.own_table;
  generation_ = whatever_there_is || claimed_ ? 0 : generation;
  batch_.begin_batch(whatever_there_is ? 0 : generation);
  write_frame(found, whatever_there_is);
  ElementCursor cursor{stores_.begin()};
  // Packets meet the old table or the whole new one. Where there is none, all doors are open: they
  // are closed first, and rules follow.
  if (found.exists || !options_.own_table || whatever_there_is) write_elements(cursor);
  for (bool first = true;; first = false) {
    const auto outcome = commit();
    if (outcome == Outcome::kStale) return false;
    if (outcome == Outcome::kFailed) {
      const int error = errors_.empty() ? EIO : errors_.front().error;
      if (!first && error == ENOENT) return false;
      if (!begun_ && error == EPERM && (found.flags & kTableOwned) != 0) {
        // Its process has let go of the lock, and is about to let go of the table.
        std::this_thread::sleep_for(kOwnerPause);
        return false;
      }
      throw std::system_error(error, std::generic_category(), "nf_tables table");
    }
    if (cursor.store == stores_.end()) return true;
    batch_.begin_batch(generation_);
    const auto nothing = batch_.size();
    write_elements(cursor);
    if (batch_.size() == nothing) return true;  // their time is over
  }
}

void NftablesBackend::write_frame(const TableState& found, bool whatever_there_is) {
  if (!options_.own_table)
    ruleset_.clear_site_table(found, batch_);
  else if (whatever_there_is)
    ruleset_.remove_any_table(batch_);
  else if (found.exists)
    ruleset_.remove_table(batch_);
  ruleset_.add_frame(claimed_, batch_);
  for (const auto& [shape, store] : stores_) ruleset_.add_set(shape, batch_);
  ruleset_.replace_rules(shapes(), batch_);
}

void NftablesBackend::write_elements(ElementCursor& cursor) {
  const Instant now = std::chrono::steady_clock::now();
  std::vector<Operation> operations;
  const auto write = [&] {
    writer_.write(operations, now, {}, nullptr);
    operations.clear();
  };
  for (; cursor.store != stores_.end(); ++cursor.store, cursor.done = 0) {
    auto& store = *cursor.store->second;
    std::size_t at = 0;
    store.for_each([&](const Key& key, Instant until) {
      if (at++ < cursor.done || batch_.size() >= options_.install_octets) return;
      ++cursor.done;
      if (until <= now) return;
      operations.push_back({&store, key, store.target(key), {}, store.find(key), 0});
      if (operations.size() == kInstallChunk) write();
    });
    write();
    if (cursor.done < store.size()) return;
  }
}

// --- Sets ----------------------------------------------------------------------------------------

std::vector<Shape> NftablesBackend::shapes() const {
  std::vector<Shape> result;
  for (const auto& [shape, store] : stores_) result.push_back(shape);
  return result;
}

bool NftablesBackend::make_store(const MissingSet& missing) {
  const Shape& shape = missing.shape;
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
    if (outcome == Outcome::kFailed && generation_ == 0 && !claimed_ && attempt < kStaleMax) {
      on_foreign_commit();
      continue;
    }
    if (outcome == Outcome::kFailed) {
      spdlog::error("nftables: no set {}: {}", set_name(shape),
                    std::strerror(errors_.empty() ? EIO : errors_.front().error));
      return false;
    }
    add_store(missing);
    remember_frame();
    return true;
  }
  return false;
}

void NftablesBackend::add_store(const MissingSet& missing) {
  auto store = std::make_unique<ElementStore>(missing.shape, ruleset_.set_in_kernel(missing.shape),
                                              missing.owner);
  empty_since_[store.get()] = planned_at_;
  stores_.emplace(missing.shape, std::move(store));
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
  if (!claimed_ && socket_.generation() != generation_) frame_ = {};
}

}  // namespace simco::backend::nftables
