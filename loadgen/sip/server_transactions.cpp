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

std::string ServerTransactions::key(const Peer& peer, std::string_view id) {
  return peer.endpoint + '\n' + std::string(id);
}

void ServerTransactions::forget_old(Time now) {
  while (!ends_.empty() && ends_.front().at <= now) {
    const End& end = ends_.front();
    const auto size = end.known->second.size();
    const auto share = shares_.find(end.source);
    share->second.octets -= size;
    if (--share->second.transactions == 0) shares_.erase(share);
    octets_ -= size;
    known_.erase(known_.find(end.known->first));
    ends_.pop_front();
  }
}

const std::string* ServerTransactions::find(const Peer& peer, std::string_view id, Time now) {
  forget_old(now);
  const auto found = known_.find(key(peer, id));
  return found == known_.end() ? nullptr : &found->second;
}

bool ServerTransactions::add(const Peer& peer, std::string_view id, std::string response,
                             Time now) {
  forget_old(now);
  const auto size = response.size();
  if (known_.size() >= kServerTransactionsMax || id.size() > kTransactionIdMax ||
      octets_ + size > kKeptResponsesMax) {
    return false;
  }
  const auto mine = shares_.find(peer.source);
  if (mine != shares_.end() && (mine->second.transactions >= kSourceTransactionsMax ||
                                mine->second.octets + size > kSourceResponsesMax)) {
    return false;
  }
  const auto [place, added] = known_.emplace(key(peer, id), std::move(response));
  if (!added) return false;
  Share& share = shares_[peer.source];
  ++share.transactions;
  share.octets += size;
  octets_ += size;
  ends_.push_back({now + lifetime_, &*place, peer.source});
  return true;
}

}  // namespace simco::loadgen::sip
