#include "loadgen/sip/framer.hpp"

#include "loadgen/sip/message.hpp"
#include "loadgen/sip/text.hpp"

namespace simco::loadgen::sip {

std::expected<std::size_t, net::FramingError> SipFramer::size_of(
    std::span<const std::byte> octets) const {
  const auto text = text_of(octets);
  if (text.starts_with('\r')) {
    if (text.size() >= 2 && text[1] != '\n') {
      return std::unexpected(net::FramingError::kUnknownLength);
    }
    return kLineEnd.size();
  }
  const auto header = header_size(text);
  if (!header) {
    if (text.size() >= kHeaderMax) return std::unexpected(net::FramingError::kUnknownLength);
    return text.size() + 1;
  }
  const auto body = content_length(text.substr(0, *header));
  if (!body) return std::unexpected(net::FramingError::kImpossibleLength);
  if (!*body) return std::unexpected(net::FramingError::kUnknownLength);
  if (*header + **body > kMessageMax) {
    return std::unexpected(net::FramingError::kImpossibleLength);
  }
  return *header + **body;
}

std::optional<net::FramingError> SipFramer::fault_in(std::span<const std::byte>,
                                                     std::size_t) const {
  return std::nullopt;
}

}  // namespace simco::loadgen::sip
