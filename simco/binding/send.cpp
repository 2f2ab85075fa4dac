#include "simco/binding/send.hpp"

#include "simco/net/limits.hpp"
#include "simco/wire/byte_io.hpp"
#include "simco/wire/codec.hpp"

namespace simco {

net::StreamId stream_of(TransactionId tid, const net::MessageChannel& channel) {
  return net::StreamId{static_cast<std::uint16_t>(tid.value % channel.outbound_streams())};
}

bool send(net::MessageChannel& channel, TransactionId tid, const Body& body) {
  const std::size_t reserve = std::holds_alternative<AstNotification>(body) ? kHeaderSize : 0;
  const auto room = channel.allocate(encoded_size(body), {stream_of(tid, channel)},
                                     net::kOutputQueueMax + reserve);
  if (room.empty()) return false;
  ByteWriter out(room);
  encode(tid, body, out);
  return true;
}

}  // namespace simco
