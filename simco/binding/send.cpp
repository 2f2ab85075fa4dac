#include "simco/binding/send.hpp"

#include <algorithm>

#include "simco/net/limits.hpp"
#include "simco/wire/byte_io.hpp"
#include "simco/wire/codec.hpp"

namespace simco {

net::StreamId stream_of(TransactionId tid, const net::MessageChannel& channel) {
  return net::StreamId{static_cast<std::uint16_t>(tid.value % channel.outbound_streams())};
}

std::span<const std::byte> send_message(net::MessageChannel& channel, TransactionId tid,
                                        const Body& body) {
  const std::size_t reserve = std::holds_alternative<AstNotification>(body) ? kHeaderSize : 0;
  const auto room = channel.allocate(encoded_size(body), {stream_of(tid, channel)},
                                     net::kOutputQueueMax + reserve);
  if (room.empty()) return {};
  ByteWriter out(room);
  encode(tid, body, out);
  return room;
}

bool send(net::MessageChannel& channel, TransactionId tid, const Body& body) {
  return !send_message(channel, tid, body).empty();
}

bool send_copy(net::MessageChannel& channel, std::span<const std::byte> message,
               net::StreamId stream) {
  const auto room = channel.allocate(message.size(), {.stream = stream, .unordered = true});
  if (room.empty()) return false;
  std::ranges::copy(message, room.begin());
  return true;
}

}  // namespace simco
