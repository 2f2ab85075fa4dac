// Every kind of channel, as connected pairs for the suite of channels.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <vector>

#include "simco/net/message_channel.hpp"

namespace simco::net {

/// Two ends of a connection that is up, not started yet, and the functions that move it on.
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

/// The kinds that any machine has.
std::vector<ChannelKind> channel_kinds();
/// The kinds that need SCTP in the kernel: for the laboratory's guest.
std::vector<ChannelKind> kernel_channel_kinds();

}  // namespace simco::net
