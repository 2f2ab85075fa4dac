// Any octets as a dictionary of the ng protocol, in bencode and in JSON: every value that can be
// read can be written, and is read again as the same value.
#include <cstdint>
#include <string_view>

#include "agent/ng/protocol/codec.hpp"
#include "simco/wire/assert.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace simco::ng;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto value = decode_bencode(text);
  if (value) {
    const auto written = encode_bencode(*value);
    SIMCO_ASSERT(decode_bencode(written) == *value);
    SIMCO_ASSERT(encode_bencode(*decode_bencode(written)) == written);
  }
  const auto in_json = decode_json(text);
  if (in_json && in_json->is_object()) {
    const auto datagram = write_datagram("c", Form::kJson, *in_json);
    const auto again = read_datagram(datagram);
    SIMCO_ASSERT(again && again->cookie == "c" && again->form == Form::kJson);
    SIMCO_ASSERT(again->dictionary && *again->dictionary == *in_json);
  }
  return 0;
}
