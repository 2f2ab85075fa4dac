// Writes elements as netlink attributes. Consecutive elements of a set share a message, unless each
// change needs messages of its own.
#include "middlebox/backend/nftables/elements/element_writer.hpp"

#include <endian.h>
#include <fmt/format.h>
#include <netinet/in.h>
// The kernel's headers go after the C library's.
#include <libnftnl/udata.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <numeric>

#include "middlebox/backend/match/key_layout.hpp"
#include "middlebox/backend/nftables/limits.hpp"

namespace simco::backend::nftables {

std::string set_name(const Mask& mask) {
  static constexpr std::array<const char*, 6> purposes = {
      "disable", "enable", "dnat-outside", "dnat-inside", "snat-outside", "snat-inside"};
  static constexpr std::array<const char*, 5> directions = {"", "-in", "-out", "-in-conn",
                                                            "-out-conn"};
  const auto version = mask.version == IpVersion::kIpv4 ? '4' : '6';
  auto name = fmt::format("{}{}{}", purposes[static_cast<std::size_t>(mask.purpose)], version,
                          directions[static_cast<std::size_t>(mask.direction)]);
  if (mask.intervals) return name + "-intervals";
  name += fmt::format("_{}.{}_{}.{}", mask.internal_bits, mask.internal_port_bits,
                      mask.external_bits, mask.external_port_bits);
  if (mask.protocol) name += "_proto";
  if (mask.target_port) name += "_port";
  if (mask.last_port != 0) name += fmt::format("_{}-{}", mask.first_port, mask.last_port);
  return name;
}

namespace {

void put_value(nlmsghdr* message, std::uint16_t attribute, const void* octets, std::size_t size) {
  const auto nest = begin_nest(message, attribute);
  put_attribute(message, NFTA_DATA_VALUE, octets, size);
  end_nest(message, nest);
}

/// A comment that nft prints: "pid 4711".
void put_comment(nlmsghdr* message, PolicyRuleId pid) {
  std::array<char, 24> text = {
      static_cast<char>(NFTNL_UDATA_SET_ELEM_COMMENT), 0, 'p', 'i', 'd', ' '};
  const auto end = std::to_chars(text.data() + 6, text.data() + text.size() - 1, pid.value).ptr;
  *end = '\0';
  const auto size = static_cast<std::size_t>(end + 1 - text.data());
  text[1] = static_cast<char>(size - 2);
  put_attribute(message, NFTA_SET_ELEM_USERDATA, text.data(), size);
}

}  // namespace

void put_key(nlmsghdr* message, const Mask& mask, const Key& key) {
  const auto first = key_octets(mask, key);
  put_value(message, NFTA_SET_ELEM_KEY, first.octets.data(), first.size);
  if (!mask.intervals) return;
  const auto last = key_octets(mask, key, true);
  put_value(message, NFTA_SET_ELEM_KEY_END, last.octets.data(), last.size);
}

void ElementWriter::write(std::span<const Operation> operations, Instant now,
                          std::vector<ChangeMessage>* messages) {
  messages_ = messages;
  // Elements of a set share a message. The changes of an element keep their order.
  if (messages != nullptr || std::ranges::is_sorted(operations, {}, &Operation::store)) {
    for (const auto& operation : operations) write(operation, now);
  } else {
    order_.resize(operations.size());
    std::iota(order_.begin(), order_.end(), 0U);
    std::ranges::stable_sort(order_, {}, [&](std::uint32_t i) { return operations[i].store; });
    for (const auto index : order_) write(operations[index], now);
  }
  close();
}

void ElementWriter::write(const Operation& operation, Instant now) {
  const auto& before = operation.before;
  const auto& after = operation.after;
  const Instant ended = last_end(before);
  const Instant ends = last_end(after);
  if (!before.empty() && ended == ends) return;
  // Deleting and adding in the same commit leaves no gap for packets; Linux 6.1 has no other way to
  // change a timeout.
  if (!before.empty() && now < ended + slack_) {
    // An element that may have ended already (its time began with the kernel's tick) is added
    // first: deleting a missing element would fail the whole batch.
    if (now + kKernelTick >= ended || operation.uncertain)
      add(operation, before.front().pid, kPlaceholderLifetime);
    remove(operation);
  }
  if (!after.empty()) add(operation, after.front().pid, ends - now);
}

void ElementWriter::add(const Operation& operation, PolicyRuleId pid,
                        std::chrono::nanoseconds lifetime) {
  const Mask& mask = operation.store->mask();
  auto* message = open_for(operation, false);
  const auto element = begin_nest(message, NFTA_LIST_ELEM);
  put_key(message, mask, operation.key);
  if (mask.translates()) {
    const auto target = target_octets(mask, operation.target);
    put_value(message, NFTA_SET_ELEM_DATA, target.octets.data(), target.size);
  }
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(lifetime).count();
  // 0 would mean no timeout.
  const auto timeout = static_cast<std::uint64_t>(std::max<std::int64_t>(milliseconds, 1));
  const std::uint64_t big_endian = htobe64(timeout);
  put_attribute(message, NFTA_SET_ELEM_TIMEOUT, &big_endian, sizeof big_endian);
  put_comment(message, pid);
  end_nest(message, element);
}

void ElementWriter::remove(const Operation& operation) {
  auto* message = open_for(operation, true);
  listed_.expires_at = std::min(listed_.expires_at, last_end(operation.before));
  const auto element = begin_nest(message, NFTA_LIST_ELEM);
  put_key(message, operation.store->mask(), operation.key);
  end_nest(message, element);
}

void ElementWriter::write_removal(const Mask& mask, const std::string& key,
                                  const std::string& key_end) {
  messages_ = nullptr;
  open(mask, true);
  const auto element = begin_nest(message_, NFTA_LIST_ELEM);
  put_value(message_, NFTA_SET_ELEM_KEY, key.data(), key.size());
  if (!key_end.empty()) {
    put_value(message_, NFTA_SET_ELEM_KEY_END, key_end.data(), key_end.size());
  }
  end_nest(message_, element);
  close();
}

nlmsghdr* ElementWriter::open_for(const Operation& operation, bool removal) {
  const bool fits = message_ != nullptr && store_ == operation.store &&
                    listed_.removal == removal &&
                    (messages_ == nullptr || listed_.change == operation.change) &&
                    message_->nlmsg_len < kListOctets;
  if (fits) return message_;
  close();
  open(operation.store->mask(), removal);
  store_ = operation.store;
  listed_ = {0, operation.change, removal, Instant::max(), operation.uncertain};
  return message_;
}

void ElementWriter::open(const Mask& mask, bool removal) {
  const int type = removal ? NFT_MSG_DELSETELEM : NFT_MSG_NEWSETELEM;
  const int flags = removal ? (echo_ ? NLM_F_ECHO : 0) : NLM_F_CREATE;
  message_ = batch_.begin_inet(type, static_cast<std::uint16_t>(flags));
  mnl_attr_put_strz(message_, NFTA_SET_ELEM_LIST_TABLE, options_.table.c_str());
  mnl_attr_put_strz(message_, NFTA_SET_ELEM_LIST_SET, name_of(mask).c_str());
  list_ = begin_nest(message_, NFTA_SET_ELEM_LIST_ELEMENTS);
}

void ElementWriter::close() {
  if (message_ == nullptr) return;
  end_nest(message_, list_);
  listed_.sequence = batch_.end();
  if (messages_ != nullptr) messages_->push_back(listed_);
  message_ = nullptr;
  store_ = nullptr;
}

const std::string& ElementWriter::name_of(const Mask& mask) {
  const auto known = names_.find(mask);
  if (known != names_.end()) return known->second;
  if (names_.size() >= kSetNamesMax) names_.clear();
  return names_.emplace(mask, set_in_kernel(options_, mask)).first->second;
}

namespace {

std::string value_of(const nlattr* data) {
  std::string result;
  for_each_attribute(attributes_of(data), [&](std::uint16_t type, const nlattr* value) {
    if (type != NFTA_DATA_VALUE) return;
    const auto octets = attributes_of(value);
    result.assign(octets.data(), octets.size());
  });
  return result;
}

/// An element's only expression is its counter.
PacketCount count_of(const nlattr* expression) {
  PacketCount count;
  for_each_attribute(attributes_of(expression), [&](std::uint16_t type, const nlattr* data) {
    if (type != NFTA_EXPR_DATA) return;
    for_each_attribute(attributes_of(data), [&](std::uint16_t part, const nlattr* value) {
      if (part == NFTA_COUNTER_PACKETS) count.packets = be64toh(mnl_attr_get_u64(value));
      if (part == NFTA_COUNTER_BYTES) count.octets = be64toh(mnl_attr_get_u64(value));
    });
  });
  return count;
}

KernelElement element_of(const nlattr* attribute) {
  KernelElement element;
  std::string end;
  for_each_attribute(attributes_of(attribute), [&](std::uint16_t type, const nlattr* part) {
    if (type == NFTA_SET_ELEM_KEY) element.key = value_of(part);
    if (type == NFTA_SET_ELEM_KEY_END) end = value_of(part);
    if (type == NFTA_SET_ELEM_EXPR) element.counter = count_of(part);
  });
  element.key += end;
  return element;
}

}  // namespace

std::string_view set_named_in(const nlmsghdr* message) {
  std::string_view name;
  for_each_attribute(attributes_of(message), [&](std::uint16_t type, const nlattr* attribute) {
    if (type == NFTA_SET_ELEM_LIST_SET) name = mnl_attr_get_str(attribute);
  });
  return name;
}

std::vector<KernelElement> elements_in(const nlmsghdr* message) {
  std::vector<KernelElement> result;
  for_each_attribute(attributes_of(message), [&](std::uint16_t list_type, const nlattr* list) {
    if (list_type != NFTA_SET_ELEM_LIST_ELEMENTS) return;
    for_each_attribute(attributes_of(list), [&](std::uint16_t, const nlattr* element) {
      result.push_back(element_of(element));
    });
  });
  return result;
}

}  // namespace simco::backend::nftables
