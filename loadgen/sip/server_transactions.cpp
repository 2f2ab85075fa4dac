#include "loadgen/sip/server_transactions.hpp"

#include <utility>

#include "loadgen/sip/call.hpp"
#include "loadgen/sip/text.hpp"

namespace simco::loadgen::sip {

std::string transaction_id(const Message& invite) {
  const auto join = [](std::initializer_list<std::string_view> parts) {
    std::string result;
    for (const auto part : parts) (result += part) += '\n';
    return result;
  };
  if (invite.via.branch.starts_with(kBranchCookie)) {
    return join({invite.via.branch, invite.via.sent_by});
  }
  return join({invite.uri, invite.to, invite.from, invite.call_id, std::to_string(invite.cseq),
               invite.via.text});
}

std::string ServerTransactions::key(std::uint64_t peer, std::string_view id) {
  return std::to_string(peer) + '\n' + std::string(id);
}

void ServerTransactions::forget_old(Time now) {
  while (!ends_.empty() && ends_.front().first <= now) {
    const auto found = known_.find(ends_.front().second);
    octets_ -= found->second.size();
    known_.erase(found);
    ends_.pop_front();
  }
}

const std::string* ServerTransactions::find(std::uint64_t peer, std::string_view id, Time now) {
  forget_old(now);
  const auto found = known_.find(key(peer, id));
  return found == known_.end() ? nullptr : &found->second;
}

bool ServerTransactions::add(std::uint64_t peer, std::string_view id, std::string response,
                             Time now) {
  forget_old(now);
  if (known_.size() >= kServerTransactionsMax || id.size() > kTransactionIdMax ||
      octets_ + response.size() > kKeptResponsesMax) {
    return false;
  }
  const auto size = response.size();
  const auto [place, added] = known_.emplace(key(peer, id), std::move(response));
  if (!added) return false;
  octets_ += size;
  ends_.emplace_back(now + lifetime_, place->first);
  return true;
}

}  // namespace simco::loadgen::sip
