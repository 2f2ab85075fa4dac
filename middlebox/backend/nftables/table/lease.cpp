#include "middlebox/backend/nftables/table/lease.hpp"

#include <endian.h>
#include <netinet/in.h>
// The kernel's headers go after the C library's.
#include <libnftnl/set.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "middlebox/backend/nftables/limits.hpp"

namespace simco::backend::nftables {
namespace {

/// By which nft knows the type of the key.
constexpr std::uint32_t kTypeNfProto = 2;

void put_element(nlmsghdr* message, std::uint8_t version,
                 std::optional<std::chrono::milliseconds> timeout) {
  const auto element = begin_nest(message, NFTA_LIST_ELEM);
  const auto key = begin_nest(message, NFTA_SET_ELEM_KEY);
  put_attribute(message, NFTA_DATA_VALUE, &version, sizeof version);
  end_nest(message, key);
  if (timeout) {
    const std::uint64_t big_endian = htobe64(static_cast<std::uint64_t>(timeout->count()));
    put_attribute(message, NFTA_SET_ELEM_TIMEOUT, &big_endian, sizeof big_endian);
  }
  end_nest(message, element);
}

void put_elements(const Options& options, int type, std::uint16_t flags,
                  std::optional<std::chrono::milliseconds> timeout, MessageBuffer& batch) {
  auto* message = batch.begin_inet(type, flags);
  mnl_attr_put_strz(message, NFTA_SET_ELEM_LIST_TABLE, options.table.c_str());
  mnl_attr_put_strz(message, NFTA_SET_ELEM_LIST_SET, lease_set(options).c_str());
  const auto list = begin_nest(message, NFTA_SET_ELEM_LIST_ELEMENTS);
  for (const std::uint8_t version : {NFPROTO_IPV4, NFPROTO_IPV6}) {
    put_element(message, version, timeout);
  }
  end_nest(message, list);
  batch.end();
}

}  // namespace

std::string lease_set(const Options& options) { return name_in_kernel(options, "lease"); }

void add_lease_set(const Options& options, MessageBuffer& batch) {
  auto* message = batch.begin_inet(NFT_MSG_NEWSET, NLM_F_CREATE);
  const std::unique_ptr<nftnl_set, decltype(&nftnl_set_free)> set(nftnl_set_alloc(),
                                                                  &nftnl_set_free);
  nftnl_set_set_str(set.get(), NFTNL_SET_TABLE, options.table.c_str());
  nftnl_set_set_str(set.get(), NFTNL_SET_NAME, lease_set(options).c_str());
  nftnl_set_set_u32(set.get(), NFTNL_SET_ID, ~0U);  // others count from 1
  nftnl_set_set_u32(set.get(), NFTNL_SET_FAMILY, NFPROTO_INET);
  nftnl_set_set_u32(set.get(), NFTNL_SET_KEY_TYPE, kTypeNfProto);
  nftnl_set_set_u32(set.get(), NFTNL_SET_KEY_LEN, sizeof(std::uint8_t));
  nftnl_set_set_u32(set.get(), NFTNL_SET_FLAGS, NFT_SET_TIMEOUT);
  nftnl_set_nlmsg_build_payload(message, set.get());
  batch.end();
}

void remove_lease_set(const Options& options, MessageBuffer& batch) {
  auto* message = batch.begin_inet(NFT_MSG_DELSET, 0);
  mnl_attr_put_strz(message, NFTA_SET_TABLE, options.table.c_str());
  mnl_attr_put_strz(message, NFTA_SET_NAME, lease_set(options).c_str());
  batch.end();
}

void write_lease(const Options& options, std::chrono::milliseconds left, MessageBuffer& batch) {
  // The kernel (6.1) changes a timeout by a removal, and refuses that of a missing element.
  put_elements(options, NFT_MSG_NEWSETELEM, NLM_F_CREATE, kPlaceholderLifetime, batch);
  put_elements(options, NFT_MSG_DELSETELEM, 0, std::nullopt, batch);
  if (left < kKernelTick) return;  // less than a tick would be no limit
  put_elements(options, NFT_MSG_NEWSETELEM, NLM_F_CREATE, left, batch);
}

}  // namespace simco::backend::nftables
