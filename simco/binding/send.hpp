// Sends SIMCO messages over a channel (RFC 4540 section 3): their stream, and the room for them.
#pragma once

#include "simco/net/message_channel.hpp"
#include "simco/wire/ids.hpp"
#include "simco/wire/messages.hpp"

namespace simco {

/// Returns the stream of a message: TID mod N.
net::StreamId stream_of(TransactionId tid, const net::MessageChannel& channel);

/// Queues a message on the stream of its TID. Returns false if the queue is full; for AST, the last
/// word of a session, there is room behind a queue that is full (7.5).
bool send(net::MessageChannel& channel, TransactionId tid, const Body& body);

}  // namespace simco
