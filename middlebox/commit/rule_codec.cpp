// The stored form of a rule: a version, fixed fields, then strings and address tuples with their
// lengths. Older versions are still read; anything else is rejected as damaged.
#include "middlebox/commit/journal.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <span>

#include "simco/wire/byte_io.hpp"
#include "simco/wire/codec.hpp"
#include "simco/wire/limits.hpp"

namespace simco::middlebox {
namespace {

using rule::RuleKind;

// | version | kind | flags | GID (4) | TID (4) | left (4) | ends at (8) | parameters (4)
// | owner: length (1), octets | internal, external, outside, inside: each length (1), value of
// figure 12; length 0 if absent | ages of the bindings: outside (8), inside (8), if flagged |
// Version 1 had no flags, and the name of the group's owner after that of the rule; version 2 had
// no ages.
constexpr std::uint8_t kVersion = 3;
constexpr std::uint8_t kAnyVersion = 1;  ///< flags
constexpr std::uint8_t kAges = 2;
constexpr std::size_t kFixed = 27 + 16;
constexpr std::size_t kLongest = kFixed + (1 + kOwnerSizeMax) + 4 * (1 + kTupleSizeMax);
static_assert(kOwnerSizeMax <= 255, "its length is one octet");

void put(ByteWriter& out, std::string_view text) {
  out.u8(static_cast<std::uint8_t>(text.size()));
  out.octets(std::as_bytes(std::span(text)));
}

void put(ByteWriter& out, const AddressTuple& tuple) {
  out.u8(static_cast<std::uint8_t>(value_size(tuple)));
  write_value(out, tuple);
}

void put(ByteWriter& out, const std::optional<AddressTuple>& tuple) {
  if (tuple) return put(out, *tuple);
  out.u8(0);
}

void put(ByteWriter& out, std::uint64_t number) {
  out.u32(static_cast<std::uint32_t>(number >> 32));
  out.u32(static_cast<std::uint32_t>(number));
}

std::uint64_t take_number(ByteReader& in) {
  const std::uint64_t high = in.u32();
  return high << 32 | in.u32();
}

std::string_view take_text(ByteReader& in) {
  const auto octets = in.octets(in.u8());
  return {reinterpret_cast<const char*>(octets.data()), octets.size()};
}

/// Returns false if the octets are not a tuple.
bool take(ByteReader& in, std::optional<AddressTuple>& tuple) {
  const auto octets = in.octets(in.u8());
  if (octets.empty()) return in.ok();
  tuple = read_tuple(octets);
  return tuple.has_value();
}

bool take(ByteReader& in, AddressTuple& tuple) {
  std::optional<AddressTuple> read;
  if (!take(in, read) || !read) return false;
  tuple = *read;
  return true;
}

}  // namespace

std::string encode_rule(const rule::RuleRecord& rule, Instant now, std::int64_t wall_ms) {
  using namespace std::chrono;
  const auto left = std::max(rule.expires_at - now, Instant::duration::zero());
  const auto ends_at_ms = wall_ms + duration_cast<milliseconds>(left).count();
  std::array<std::byte, kLongest> buffer;
  ByteWriter out(buffer);
  out.u8(kVersion);
  out.u8(static_cast<std::uint8_t>(rule.kind));
  const bool bound = rule.binding_ages != rule::BindingAges{};
  out.u8(static_cast<std::uint8_t>((rule.any_version ? kAnyVersion : 0) | (bound ? kAges : 0)));
  out.u32(rule.group.value);
  out.u32(rule.creating_tid.value);
  out.u32(static_cast<std::uint32_t>(ceil<seconds>(left).count()));
  put(out, static_cast<std::uint64_t>(ends_at_ms));
  write_value(out, rule.parameters);
  put(out, rule.owner_name);
  put(out, rule.internal);
  put(out, rule.external);
  put(out, rule.outside);
  put(out, rule.inside);
  if (bound) {
    put(out, rule.binding_ages.outside);
    put(out, rule.binding_ages.inside);
  }
  return {reinterpret_cast<const char*>(buffer.data()), out.written()};
}

std::expected<KeptRule, std::string> decode_rule(PolicyRuleId pid, std::string_view octets) {
  ByteReader in(std::as_bytes(std::span(octets)));
  const auto version = in.u8();
  if (version == 0 || version > kVersion) {
    return std::unexpected("unknown version " + std::to_string(version) + ", expected at most " +
                           std::to_string(kVersion));
  }
  KeptRule kept;
  auto& rule = kept.rule;
  rule.pid = pid;
  const auto kind = in.u8();
  rule.kind = static_cast<RuleKind>(kind);
  const std::uint8_t flags = version == 1 ? 0 : in.u8();
  rule.any_version = (flags & kAnyVersion) != 0;
  rule.group = GroupId{in.u32()};
  rule.creating_tid = TransactionId{in.u32()};
  kept.left = Lifetime{in.u32()};
  kept.ends_at_ms = static_cast<std::int64_t>(take_number(in));
  const auto parameters = read_per_parameters(in.octets(kPerParametersSize));
  rule.parameters = parameters.value_or(PerParameterSet{});
  rule.owner_name = take_text(in);
  if (version == 1) take_text(in);
  const bool tuples = take(in, rule.internal) && take(in, rule.external) &&
                      take(in, rule.outside) && take(in, rule.inside);
  if ((flags & kAges) != 0) {
    rule.binding_ages.outside = take_number(in);
    rule.binding_ages.inside = take_number(in);
  }
  if (!in.ok() || in.remaining() != 0 || !parameters || !tuples ||
      kind > static_cast<std::uint8_t>(RuleKind::kDisable) || flags > (kAnyVersion | kAges)) {
    return std::unexpected(std::string("damaged record"));
  }
  return kept;
}

std::chrono::milliseconds time_left(const KeptRule& kept, std::int64_t wall_ms) {
  using std::chrono::milliseconds, std::chrono::seconds;
  return std::min(milliseconds(kept.ends_at_ms - wall_ms),
                  milliseconds(seconds(kept.left.seconds)));
}

}  // namespace simco::middlebox
