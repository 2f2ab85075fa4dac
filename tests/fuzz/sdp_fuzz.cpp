// Any octets as an SDP: other parts than the replaced ones stay, and replaced parts can be read
// again.
#include <cstdint>
#include <string_view>

#include "agent/ng/call/media.hpp"
#include "agent/ng/protocol/translate.hpp"
#include "simco/wire/assert.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace simco::ng;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto sdp = parse_sdp(text);
  if (!sdp) return 0;
  SIMCO_ASSERT(SdpEditor(text).text() == text);
  Request request;
  request.replaces_origin = true;
  const auto unchanged =
      translate(*sdp, request, [](const TransportAddress&) { return std::nullopt; });
  SIMCO_ASSERT(unchanged == text);
  const auto outside = *simco::parse_address("198.51.100.1");
  const auto changed = translate(*sdp, request, [&](const TransportAddress& internal) {
    return std::optional(TransportAddress{
        outside, internal.port == 40000 ? std::uint16_t{40001} : std::uint16_t{40000}});
  });
  const auto again = parse_sdp(changed);
  SIMCO_ASSERT(again && again->media.size() == sdp->media.size());
  const auto before = describe(*sdp, request, nullptr);
  const auto after = describe(*again, request, &before);
  for (std::size_t i = 0; i < before.media.size(); ++i) {
    // Something else may still hide its address, such as a host name in a line of its own.
    if (!before.media[i].usable()) continue;
    SIMCO_ASSERT(after.media[i].media && after.media[i].media->address == outside);
  }
  request.removes_ice = true;
  const auto without =
      translate(*sdp, request, [](const TransportAddress&) { return std::nullopt; });
  const auto bare = parse_sdp(without);
  SIMCO_ASSERT(bare && bare->ice_lines.empty());
  return 0;
}
