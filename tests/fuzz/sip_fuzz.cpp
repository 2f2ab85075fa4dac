// Any octets as SIP: a stream is cut into the same messages however it arrives, and our response to
// a readable message is readable itself.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "loadgen/sip/compose.hpp"
#include "loadgen/sip/message.hpp"
#include "loadgen/sip/server_transactions.hpp"
#include "simco/net/frame_splitter.hpp"
#include "simco/wire/assert.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using namespace simco;
using namespace simco::loadgen;

/// Messages of a stream that arrives in pieces of `piece` octets; the last is the error that
/// stopped it.
std::vector<std::string> messages_in(std::span<const std::byte> stream, std::size_t piece) {
  net::FrameSplitter splitter(sip::kSipFramer);
  std::vector<std::string> result;
  while (!stream.empty()) {
    const auto octets = stream.first(std::min(piece, stream.size()));
    stream = stream.subspan(octets.size());
    const auto fault = splitter.feed(octets, [&](std::span<const std::byte> message) {
      result.emplace_back(sip::text_of(message));
      return true;
    });
    if (!fault) continue;
    result.emplace_back(to_string(*fault));
    break;
  }
  SIMCO_ASSERT(splitter.held() <= sip::kMessageMax);
  return result;
}

void answer(const sip::Message& request) {
  const sip::Source source{"192.0.2.1", 5060};
  const auto text = sip::make_response(request, {180, "Ringing"}, source, 300);
  SIMCO_ASSERT(text.size() >= 300);
  const auto response = sip::parse_message(text);
  // The repeated fields may be a little too much for a further message.
  if (!response &&
      (request.fields().size() + 7 > sip::kFieldsMax || text.size() > sip::kHeaderMax)) {
    return;
  }
  SIMCO_ASSERT(response && response->status == 180);
  SIMCO_ASSERT(response->call_id == request.call_id && response->cseq == request.cseq);
  // An open bracket or quotation mark, which no token has, takes in the response's additions.
  if (request.via.text.find_first_of("<>\"\\") != std::string_view::npos) return;
  SIMCO_ASSERT(response->via.branch == request.via.branch);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto octets = std::as_bytes(std::span(data, size));
  const auto whole = messages_in(octets, size);
  for (const std::size_t piece : {1UZ, 3UZ, 64UZ}) {
    SIMCO_ASSERT(messages_in(octets, piece) == whole);
  }
  const auto message = sip::parse_message(sip::text_of(octets));
  if (!message) return 0;
  if (message->is_request()) {
    answer(*message);
    sip::transaction_id(*message);
    sip::call_of_request(*message);
    return 0;
  }
  sip::call_of_response(*message);
  SIMCO_ASSERT(!sip::make_ack(*message, "UDP").empty());
  return 0;
}
