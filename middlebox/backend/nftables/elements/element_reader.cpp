#include "middlebox/backend/nftables/elements/element_reader.hpp"

#include <endian.h>
#include <netinet/in.h>
// The kernel's headers go after the C library's.
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>

#include <utility>

namespace simco::backend::nftables {
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
