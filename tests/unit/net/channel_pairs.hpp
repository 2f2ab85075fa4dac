// Every kind of channel, as two connected ones: what the suite of channels runs over.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <vector>

#include "simco/net/message_channel.hpp"

namespace simco::net {

/// Two ends of a connection that is up, not started yet, and what makes things happen there.
class ChannelPair {
 public:
  ChannelPair() = default;
  ChannelPair(const ChannelPair&) = delete;
  ChannelPair& operator=(const ChannelPair&) = delete;
  virtual ~ChannelPair() = default;

  /// Lets things happen until `done()`. Returns false if that does not come.
  virtual bool run_until(const std::function<bool()>& done) = 0;
  /// Long enough for most things to show that must not happen.
  virtual void watch() = 0;

  std::shared_ptr<MessageChannel> near;  ///< null: there is no connection
  std::shared_ptr<MessageChannel> far;   ///< likewise
};

/// A row of the table.
struct ChannelKind {
  const char* name;
  std::function<std::unique_ptr<ChannelPair>()> connect;

  friend void PrintTo(const ChannelKind& kind, std::ostream* out) { *out << kind.name; }
};

/// What any machine has.
std::vector<ChannelKind> channel_kinds();
/// What needs SCTP in the kernel: for the laboratory's guest.
std::vector<ChannelKind> kernel_channel_kinds();

}  // namespace simco::net
