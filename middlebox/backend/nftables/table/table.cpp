// Tries the kernel's abilities, then creates the table in a single commit or, if it is large, in
// several. A commit that others' commits made stale is tried again.
#include "middlebox/backend/nftables/table/table.hpp"

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "middlebox/backend/nftables/limits.hpp"
#include "middlebox/backend/nftables/logins.hpp"
#include "middlebox/backend/nftables/table/lease.hpp"
#include "simco/log/log.hpp"

namespace simco::backend::nftables {

Table::Table(Options& options, Committer& committer, const match::TupleSpace& elements)
    : options_(options), committer_(committer), elements_(elements), ruleset_(options) {
  lock_.take(options_.table);
}

// --- The kernel's abilities ----------------------------------------------------------------------

bool Table::kernel_takes(Trial trial) {
  (ruleset_.*trial)(committer_.begin_on(0));
  const bool taken = committer_.commit() == Outcome::kDone;
  if (!taken && committer_.error() == EPERM) {
    throw std::system_error(EPERM, std::generic_category(), "nf_tables");
  }
  return taken;
}

void Table::probe_kernel() {
  const bool claims = options_.own_table && options_.claim_table;
  if (claims && kernel_takes(&Ruleset::try_to_claim)) committer_.claim();
  if (claims && !committer_.claimed()) {
    log::info(
        "nftables: this kernel cannot claim a table (Linux 6.9 can): others can change or flush "
        "it, and packets pass until it is restored");
  }
  options_.check_sources = kernel_takes(&Ruleset::try_to_check_sources);
  if (!options_.check_sources) {
    log::warn(
        "nftables: this kernel cannot look up routes (load the modules nft_fib_ipv4, nft_fib_ipv6 "
        "and nft_fib_inet): rules for many external hosts let forged internal addresses in, "
        "unless rp_filter is on");
  }
  decide_on_tracking();
}

void Table::decide_on_tracking() {
  auto& tracking = options_.tracking;
  if (tracks_all(options_)) return;
  if (!kernel_takes(&Ruleset::try_to_defragment)) {
    tracking = Tracking::kAll;
    log::info(
        "nftables: connection tracking follows all packets, because nothing else in this kernel "
        "puts fragments together (load the module nft_tproxy)");
  } else if (tracking == Tracking::kNotrack && !options_.check_sources) {
    tracking = Tracking::kNeeded;
    log::warn(
        "nftables: --tracking notrack does as needed does: this kernel cannot look up routes");
  }
}

// --- The whole table -----------------------------------------------------------------------------

void Table::install(const LetsPass& lets_pass) {
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    if (!install_once(attempt >= kStaleMax, lets_pass)) continue;
    remember();
    installed_ = true;
    return;
  }
  if (!installed_ &&
      (look_for_table(committer_.socket(), options_.table).flags & kTableOwned) != 0) {
    throw std::runtime_error("--table: table inet " + options_.table +
                             " is owned by another process (nft list ruleset names it)");
  }
  throw std::system_error(EBUSY, std::generic_category(), "others keep changing the ruleset");
}

bool Table::install_once(bool whatever_there_is, const LetsPass& lets_pass) {
  const auto generation = committer_.socket().generation();
  const auto found = look();
  spare_administrators(found, lets_pass);
  check(found);
  whatever_there_is &= options_.own_table;
  committer_.build_on(whatever_there_is ? 0 : generation);
  write_frame(found, whatever_there_is, committer_.begin_on(whatever_there_is ? 0 : generation));
  ElementCursor cursor{elements_.stores().begin()};
  // Packets meet the old table or the whole new table. If there is none, all doors are open: they
  // are closed first, and rules follow.
  if (found.exists || !options_.own_table || whatever_there_is) write_elements(cursor);
  for (bool first = true;; first = false) {
    const auto outcome = committer_.commit();
    if (outcome == Outcome::kStale) return false;
    if (outcome == Outcome::kFailed) {
      const int error = committer_.error();
      if (!first && error == ENOENT) return false;
      if (!installed_ && error == EPERM && (found.flags & kTableOwned) != 0) {
        // Its process has let go of the lock, and is about to let go of the table.
        std::this_thread::sleep_for(kOwnerPause);
        return false;
      }
      throw std::system_error(error, std::generic_category(), "nf_tables table");
    }
    if (cursor.store == elements_.stores().end()) return true;
    committer_.begin();
    write_elements(cursor);
    if (committer_.empty()) return true;  // their time is over
  }
}

void Table::spare_administrators(const TableState& found, const LetsPass& lets_pass) const {
  // In a site's table, what no rule lets pass is the site's to decide, as before.
  if (installed_ || !options_.own_table || options_.guard_anyway) return;
  const auto connection = connection_at(options_.guards, found.guards, logged_in(), lets_pass);
  if (!connection) return;
  throw std::runtime_error("--guard: " + *connection +
                           " would be cut, and somebody is logged in from there: leave its port "
                           "out, or confirm with --guard-anyway");
}

void Table::check(const TableState& found) const {
  if (options_.own_table) {
    if (!found.exists || found.ours) return;
    throw std::runtime_error("--table: table inet " + options_.table +
                             " was made by another program; choose another name, or use "
                             "--table-mode shared to have its chains jump to the middlebox's");
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

void Table::write_frame(const TableState& found, bool whatever_there_is, MessageBuffer& batch) {
  if (!options_.own_table)
    ruleset_.clear_site_table(found, batch);
  else if (whatever_there_is)
    ruleset_.remove_any_table(batch);
  else if (found.exists)
    ruleset_.remove_table(batch);
  ruleset_.add_frame(committer_.claimed(), batch);
  for (const auto& [mask, store] : elements_.stores()) ruleset_.add_set(mask, batch);
  ruleset_.replace_rules(elements_.masks(), batch);
}

void Table::write_elements(ElementCursor& cursor) {
  const Instant now = options_.now();
  std::vector<Operation> operations;
  const auto write = [&] {
    committer_.write(operations, now);
    operations.clear();
  };
  for (; cursor.store != elements_.stores().end(); ++cursor.store, cursor.done = 0) {
    auto& store = *cursor.store->second;
    std::size_t at = 0;
    store.for_each([&](const Key& key, Instant expires_at) {
      if (at++ < cursor.done || committer_.size() >= options_.install_octets) return;
      ++cursor.done;
      if (expires_at <= now) return;
      operations.push_back({&store, key, store.target(key), {}, store.find(key)});
      if (operations.size() == kInstallChunk) write();
    });
    write();
    if (cursor.done < store.size()) return;
  }
}

void Table::remove() {
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    const auto generation = committer_.socket().generation();
    const auto found = look();
    if (!found.exists) return;
    if (options_.own_table) check(found);
    auto& batch = committer_.begin_on(generation);
    if (options_.own_table)
      ruleset_.remove_table(batch);
    else
      ruleset_.clear_site_table(found, batch);
    if (committer_.commit() == Outcome::kDone) return;
  }
  throw std::runtime_error("others keep changing the ruleset");
}

// --- Sets ----------------------------------------------------------------------------------------

Outcome Table::change_lease() {
  auto& batch = committer_.begin();
  add_lease_set(options_, batch);  // it may be there, or not
  ruleset_.replace_rules(elements_.masks(), batch);
  if (!options_.leased) remove_lease_set(options_, batch);
  return committer_.commit();
}

Outcome Table::set_lease(std::chrono::milliseconds left) {
  write_lease(options_, left, committer_.begin());
  return committer_.commit();
}

Outcome Table::add_set(const Mask& mask) {
  auto masks = elements_.masks();
  masks.push_back(mask);
  auto& batch = committer_.begin();
  ruleset_.add_set(mask, batch);
  ruleset_.replace_rules(masks, batch);
  return committer_.commit();
}

Outcome Table::remove_sets(std::span<const Mask> idle) {
  auto kept = elements_.masks();
  std::erase_if(kept,
                [&](const Mask& mask) { return std::ranges::find(idle, mask) != idle.end(); });
  auto& batch = committer_.begin();
  ruleset_.replace_rules(kept, batch);
  for (const auto& mask : idle) ruleset_.remove_set(mask, batch);
  return committer_.commit();
}

// --- The kernel's contents -----------------------------------------------------------------------

TableState Table::look() {
  return look_at_table(committer_.socket(), options_.table, ruleset_.chains());
}

void Table::remember() {
  frame_ = look();
  if (committer_.claimed()) return;
  // Others were faster: these may be their rules. They will be replaced.
  if (committer_.socket().generation() != committer_.generation()) frame_ = {};
}

bool Table::untouched() {
  if (committer_.claimed()) {
    return look_for_table(committer_.socket(), options_.table).same_table(frame_);
  }
  const auto generation = committer_.generation();
  return generation != 0 && committer_.socket().generation() == generation;
}

}  // namespace simco::backend::nftables
