// A map by TID, and the order in which replies are forgotten.
#include "simco/session/reply_memory.hpp"

#include <algorithm>

#include "simco/session/limits.hpp"
#include "simco/wire/assert.hpp"

namespace simco {

ReplyMemory::ReplyMemory(std::size_t kept, std::uint16_t streams)
    : kept_(kept), streams_(streams), forgotten_(streams) {
  SIMCO_ASSERT(kept > 0 && streams > 0);
}

Recognition ReplyMemory::recognize(TransactionId tid, std::span<const std::byte> request) {
  if (request.size() > kRepeatableMax) return Recognition::kNew;
  if (const auto known = entries_.find(tid); known != entries_.end()) {
    const auto& [octets, reply] = known->second;
    // Another request with a used TID: the agent's fault, and carried out as ever.
    if (!std::ranges::equal(octets, request)) return Recognition::kNew;
    return reply.empty() ? Recognition::kUnderWay : Recognition::kAnswered;
  }
  if (position(tid) <= forgotten_[tid.value % streams_]) return Recognition::kTooOld;
  entries_.emplace(tid, Entry{{request.begin(), request.end()}, {}});
  return Recognition::kNew;
}

std::span<const std::byte> ReplyMemory::reply(TransactionId tid) const {
  return entries_.at(tid).reply;
}

void ReplyMemory::answered(TransactionId tid, std::span<const std::byte> reply) {
  const auto found = entries_.find(tid);
  if (found == entries_.end() || !found->second.reply.empty()) return;
  if (reply.size() > kRepeatableMax) {
    entries_.erase(found);
    return;
  }
  // In this order: if memory is exhausted, a TID in the order without a reply does no harm.
  answered_.push_back(tid);
  found->second.reply.assign(reply.begin(), reply.end());
  if (answered_.size() > kept_) forget_oldest();
}

void ReplyMemory::forget_oldest() {
  const auto tid = answered_.front();
  answered_.pop_front();
  entries_.erase(tid);
  auto& highest = forgotten_[tid.value % streams_];
  highest = std::max(highest, position(tid));
}

}  // namespace simco
