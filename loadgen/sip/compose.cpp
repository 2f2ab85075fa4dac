// Messages are put together from the fields that they need; the rest of their size is filling.
#include "loadgen/sip/compose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "loadgen/sip/text.hpp"
#include "simco/wire/assert.hpp"

namespace simco::loadgen::sip {
namespace {

/// Stands where write() puts the call.
constexpr std::string_view kPlace = "################";
static_assert(kPlace.size() == kCallTextSize);

constexpr std::string_view kSdp =
    "v=0\r\n"
    "o=a 1 1 IN IP4 192.0.2.1\r\n"
    "s=-\r\n"
    "c=IN IP4 192.0.2.1\r\n"
    "t=0 0\r\n"
    "m=audio 49170 RTP/AVP 0\r\n"
    "a=x:";

/// Everything before the number of Content-Length.
std::string invite_head(std::string_view transport, std::uint32_t run) {
  return fmt::format(
      "INVITE sip:b@b.example SIP/2.0\r\n"
      "Via: SIP/2.0/{0} a.example;rport;branch={1}{2}\r\n"
      "Max-Forwards: 70\r\n"
      "From: <sip:a@a.example>;tag={3:08x}\r\n"
      "To: <sip:b@b.example>\r\n"
      "Call-ID: {2}\r\n"
      "CSeq: 1 INVITE\r\n"
      "Contact: <sip:a@a.example>\r\n"
      "Content-Type: application/sdp\r\n"
      "Content-Length: ",
      transport, kBranchCookie, kPlace, run);
}

/// Returns `head`, the length of the body, an empty line and a body, `size` octets together. A
/// space fills up if a further octet of body would take a further digit.
std::string with_body(std::string head, std::size_t size) {
  const std::size_t fixed = head.size() + kHeaderEnd.size();
  std::size_t body = size - fixed;
  while (std::to_string(body).size() + body > size - fixed) --body;
  std::string digits = std::to_string(body);
  if (digits.size() + body < size - fixed) digits.insert(0, " ");
  head += digits;
  head += kHeaderEnd;
  head += kSdp;
  head.append(size - head.size() - kLineEnd.size(), 'x');
  head += kLineEnd;
  return head;
}

void append_line(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  out += value;
  out += kLineEnd;
}

/// Returns the host of a sent-by, without the brackets of an IPv6 address.
std::string_view host_of(std::string_view sent_by) {
  if (sent_by.starts_with('[')) return sent_by.substr(1, sent_by.find(']') - 1);
  return trimmed(sent_by.substr(0, sent_by.find(':')));
}

/// The topmost Via as a response repeats it: with the port that the request came from if rport asks
/// for it (RFC 3581 4), and with the address if it is another than it says (18.2.1).
std::string answered_via(const Via& via, const Source& source) {
  std::string text(via.text);
  const auto rport = parameter(via.text, "rport");
  if (rport && rport->empty()) {
    const auto at = static_cast<std::size_t>(rport->data() - via.text.data());
    text.insert(at, fmt::format("{}{}", via.text[at - 1] == '=' ? "" : "=", source.port));
  }
  if (rport || host_of(via.sent_by) != source.address) text += ";received=" + source.address;
  return text;
}

/// Repeats the fields of a request that its response has too (8.2.6.2, 12.1.1).
void repeat_fields(const Message& request, const ResponseKind& kind, const Source& source,
                   std::string& out) {
  bool topmost = true;
  for (const Field& field : request.fields()) {
    switch (field.name) {
      case FieldName::kVia: {
        if (!std::exchange(topmost, false)) {
          append_line(out, "Via", field.value);
          break;
        }
        const auto rest = field.value.substr(request.via.text.size());
        append_line(out, "Via", answered_via(request.via, source) + std::string(rest));
        break;
      }
      case FieldName::kRecordRoute: append_line(out, "Record-Route", field.value); break;
      default: break;
    }
  }
  append_line(out, "From", request.from);
  const bool tag = kind.status > 100 && !parameter(request.to, "tag");
  append_line(out, "To", std::string(request.to) + (tag ? ";tag=b" : ""));
  append_line(out, "Call-ID", request.call_id);
  append_line(out, "CSeq", fmt::format("{} {}", request.cseq, request.cseq_method));
}

/// The URI of a name-addr or addr-spec (20.10).
std::string_view uri_of(std::string_view contact) {
  const auto open = contact.find('<');
  if (open == std::string_view::npos) return trimmed(contact.substr(0, contact.find(';')));
  return contact.substr(open + 1, contact.find('>', open) - open - 1);
}

constexpr std::string_view kServerField = "Server: simco-sip/";

}  // namespace

std::string run_text(std::uint32_t run) { return fmt::format("{:08x}", run); }

void write_call(CallId call, char* out) {
  const auto text = run_text(call.run) + fmt::format("{:08x}", call.number);
  std::memcpy(out, text.data(), kCallTextSize);
}

std::optional<CallId> read_call(std::string_view text) {
  if (text.size() != kCallTextSize) return std::nullopt;
  CallId call;
  const char* const middle = text.data() + kCallTextSize / 2;
  const char* const end = text.data() + kCallTextSize;
  const auto run = std::from_chars(text.data(), middle, call.run, 16);
  const auto number = std::from_chars(middle, end, call.number, 16);
  if (run.ptr != middle || number.ptr != end) return std::nullopt;
  return call;
}

std::size_t InviteWriter::size_min(std::string_view transport) {
  const std::size_t body = kSdp.size() + 1 + kLineEnd.size();  // one octet of filling
  return invite_head(transport, 0).size() + std::to_string(body).size() + kHeaderEnd.size() + body;
}

InviteWriter::InviteWriter(std::string_view transport, std::size_t size, std::uint32_t run)
    : run_(run) {
  SIMCO_ASSERT(size >= size_min(transport) && size <= kMessageMax);
  text_ = with_body(invite_head(transport, run), size);
  for (auto at = text_.find(kPlace); at != std::string::npos; at = text_.find(kPlace, at + 1)) {
    places_.push_back(at);
  }
}

void InviteWriter::write(std::uint32_t number, std::span<std::byte> out) const {
  std::memcpy(out.data(), text_.data(), text_.size());
  char call[kCallTextSize];
  write_call({number, run_}, call);
  for (const auto place : places_) std::memcpy(out.data() + place, call, sizeof call);
}

std::optional<CallId> call_of_response(const Message& response) {
  if (response.cseq_method != "INVITE") return std::nullopt;
  const auto branch = response.via.branch;
  if (!branch.starts_with(kBranchCookie)) return std::nullopt;
  return read_call(branch.substr(kBranchCookie.size()));
}

std::optional<CallId> call_of_request(const Message& request) { return read_call(request.call_id); }

std::string make_ack(const Message& response, std::string_view transport) {
  const bool success = response.status < 300;
  const auto target = success && !response.contact.empty() ? uri_of(response.contact) : "";
  std::string out = fmt::format("ACK {} SIP/2.0\r\n", target.empty() ? "sip:b@b.example" : target);
  append_line(out, "Via",
              fmt::format("SIP/2.0/{} a.example;rport;branch={}{}", transport, response.via.branch,
                          success ? ".ack" : ""));
  append_line(out, "Max-Forwards", "70");
  if (success) {
    std::vector<std::string_view> route;
    for (const Field& field : response.fields()) {
      auto list = field.value;
      while (field.name == FieldName::kRecordRoute && !list.empty()) {
        route.push_back(take_element(list, ','));
      }
    }
    std::ranges::reverse(route);
    for (const auto element : route) append_line(out, "Route", element);
  }
  append_line(out, "From", response.from);
  append_line(out, "To", response.to);
  append_line(out, "Call-ID", response.call_id);
  append_line(out, "CSeq", fmt::format("{} ACK", response.cseq));
  append_line(out, "Content-Length", "0");
  out += kLineEnd;
  return out;
}

std::string make_response(const Message& request, const ResponseKind& kind, const Source& source,
                          std::size_t size) {
  std::string out = fmt::format("SIP/2.0 {} {}\r\n", kind.status, kind.reason);
  repeat_fields(request, kind, source, out);
  out += kind.further;
  out += kServerField;
  constexpr std::string_view kEnd = "\r\nContent-Length: 0\r\n\r\n";
  const std::size_t rest = size - std::min(size, out.size() + kEnd.size());
  out.append(std::max<std::size_t>(rest, 1), '0');
  out += kEnd;
  return out;
}

std::size_t response_size_min(const ResponseKind& kind) {
  // Of the longest transport's name, address and port.
  const InviteWriter writer("SCTP", InviteWriter::size_min("SCTP"), 0);
  std::vector<std::byte> octets(writer.size());
  writer.write(0, octets);
  const std::string_view text(reinterpret_cast<const char*>(octets.data()), octets.size());
  const auto request = parse_message(text);
  SIMCO_ASSERT(request.has_value());
  return make_response(*request, kind, {"255.255.255.255", 65'535}, 0).size();
}

}  // namespace simco::loadgen::sip
