#include "middlebox/backend/nftables/nftables_backend.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "middlebox/backend/nftables/limits.hpp"

namespace simco::backend::nftables {
namespace {

ChangeResult result_for(int error) {
  switch (error) {
    case ENOMEM:
    case ENOSPC:
    case ENFILE:
    case EMSGSIZE:
    case ENOBUFS: return ChangeResult::kNoResources;
    default: return ChangeResult::kRefused;
  }
}

}  // namespace

bool NftablesBackend::alive() {
  try {
    socket_.generation();
    return true;
  } catch (const std::system_error& failure) {
    spdlog::error("nftables: the kernel does not answer: {}", failure.what());
    return false;
  }
}

void NftablesBackend::apply(std::span<const RuleChange> batch, Client& client) {
  const auto count = static_cast<std::uint32_t>(batch.size());
  results_.assign(count, ChangeResult::kDone);
  refused_.assign(count, std::nullopt);
  doubtful_.assign(count, false);
  for (std::uint32_t begin = 0; begin < count;) {
    try {
      begin = commit_some(batch, begin, count);
    } catch (const std::system_error& failure) {
      spdlog::error("nftables: {} changes are refused: {}", count - begin, failure.what());
      undo();
      inspect_again_ = true;  // whether the kernel has done any of it is not known
      std::fill(results_.begin() + begin, results_.end(), ChangeResult::kNoResources);
      break;
    }
  }
  conntrack_.end_batch();
  client.on_applied(results_);
}

std::uint32_t NftablesBackend::commit_some(std::span<const RuleChange> batch, std::uint32_t begin,
                                           std::uint32_t end) {
  for (int stale = 0;;) {
    planned_at_ = std::chrono::steady_clock::now();
    const auto planned = plan(batch, begin, end);
    if (missing_) {
      const auto missing = *missing_;
      undo();
      if (!make_store(missing)) {
        refused_[planned] = lost_ ? ChangeResult::kRefused : ChangeResult::kNoResources;
      }
      continue;
    }
    // The table may be gone then.
    const bool built_on_any = generation_ == 0 && !claimed_;
    auto outcome = lost_ ? Outcome::kDone : send_planned(planned_at_, nullptr);
    if (outcome == Outcome::kFailed) {
      // Once more, with a message for each change, so that the errors tell whose they are.
      outcome = send_planned(planned_at_, &parts_);
    }
    if (outcome == Outcome::kDone) {
      finish(batch, begin, planned);
      return planned;
    }
    undo();
    if (outcome == Outcome::kStale) {
      on_foreign_commit();
      if (++stale >= kStaleMax) generation_ = 0;
    } else if (built_on_any && stale < kAttemptsMax) {
      stale = kAttemptsMax;
      on_foreign_commit();
    } else if (!blame()) {
      if (planned - begin == 1) {
        refused_[begin] = result_for(errors_.empty() ? EIO : errors_.front().error);
      }
      end = begin + 1;  // one by one
    }
  }
}

NftablesBackend::Outcome NftablesBackend::send_planned(Instant now, std::vector<Part>* parts) {
  parts_.clear();
  batch_.begin_batch(generation_);
  const auto nothing = batch_.size();
  writer_.write(operations_, now, doubtful_, parts);
  if (batch_.size() == nothing) return Outcome::kDone;
  return commit();
}

NftablesBackend::Outcome NftablesBackend::commit() {
  batch_.end_batch();
  const Instant sent = std::chrono::steady_clock::now();
  const auto outcome = socket_.commit(batch_, errors_);
  if (outcome != Outcome::kDone) return outcome;
  const auto took = std::chrono::steady_clock::now() - sent;
  // An element's time begins to run somewhere between planning and now.
  writer_.set_slack(std::max<std::chrono::nanoseconds>(writer_.slack(), 2 * took + kKernelTick));
  if (generation_ != 0) ++generation_;
  return outcome;
}

bool NftablesBackend::blame() {
  bool found = false;
  for (const auto& [sequence, error] : errors_) {
    const auto part = std::find_if(parts_.begin(), parts_.end(), [&](const Part& candidate) {
      return candidate.sequence == sequence;
    });
    if (part == parts_.end()) continue;
    if (part->removal && error == ENOENT && !doubtful_[part->change]) {
      doubtful_[part->change] = true;
      // Or its time was over before the kernel came to it.
      if (!claimed_ && part->ends > std::chrono::steady_clock::now() + kKernelTick) {
        spdlog::warn("nftables: somebody else has removed elements from table {}", options_.table);
        inspect_again_ = true;
      }
    } else if (!refused_[part->change]) {
      spdlog::error("nftables: the kernel refuses a change: {}", std::strerror(error));
      refused_[part->change] = result_for(error);
    }
    found = true;
  }
  return found;
}

void NftablesBackend::finish(std::span<const RuleChange> batch, std::uint32_t begin,
                             std::uint32_t end) {
  // A translation that was there before has its flows already.
  std::vector<bool> translates_anew(options_.nat ? end - begin : 0);
  for (const auto& operation : operations_) {
    if (!operation.store->shape().translates() || !operation.before.empty()) continue;
    translates_anew[operation.change - begin] = true;
  }
  for (auto index = begin; index < end; ++index) {
    const RuleChange& change = batch[index];
    if (results_[index] != ChangeResult::kDone || change.rule().kind != RuleKind::kEnable) continue;
    if (change.kind == RuleChange::Kind::kRemove) {
      conntrack_.forget(change.rule());
    } else if (options_.nat && translates_anew[index - begin]) {
      conntrack_.make_way(change.rule());
    }
  }
  operations_.clear();
}

}  // namespace simco::backend::nftables
