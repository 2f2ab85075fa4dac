// Reads flows from the kernel's connection tracking and deletes them.
#pragma once

#include <functional>
#include <memory>

#include "middlebox/backend/nftables/flows/flow.hpp"
#include "middlebox/backend/nftables/netlink.hpp"

struct nf_conntrack;

namespace simco::backend::nftables {

/// Gathers deletions and sends them together.
class FlowRemover {
 public:
  FlowRemover();
  ~FlowRemover();

  /// Returns the request for all flows of the kernel.
  static MessageBuffer dump_request();

  /// Deletes the flow of that name, if it exists.
  void remove(const FlowTuple& tuple);
  /// Deletes the flow in `message`, which is of the answer to dump_request(), if `is_over(flow)`.
  void remove_if(const nlmsghdr* message, const std::function<bool(const Flow&)>& is_over);
  /// Sends the gathered deletions. Failures are logged: flows that stay hinder no change.
  void flush();

 private:
  struct Free {
    void operator()(nf_conntrack* flow) const;
  };

  /// The message in messages_ is complete.
  void end_message();

  NetlinkSocket socket_;
  MessageBuffer messages_;
  std::unique_ptr<nf_conntrack, Free> scratch_;
};

}  // namespace simco::backend::nftables
