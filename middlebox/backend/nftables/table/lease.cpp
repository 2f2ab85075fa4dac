#include "middlebox/backend/nftables/table/lease.hpp"

#include <endian.h>
#include <netinet/in.h>
// The kernel's headers go after the C library's.
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>

#include <cstdint>
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
  auto* message = batch.begin_inet(
      type, flags,
      {{NFTA_SET_ELEM_LIST_TABLE, options.table}, {NFTA_SET_ELEM_LIST_SET, lease_set(options)}});
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
  auto* message =
      batch.begin_inet(NFT_MSG_NEWSET, NLM_F_CREATE,
                       {{NFTA_SET_TABLE, options.table}, {NFTA_SET_NAME, lease_set(options)}});
  mnl_attr_put_u32(message, NFTA_SET_ID, htonl(~0U));  // others count from 1
  mnl_attr_put_u32(message, NFTA_SET_KEY_TYPE, htonl(kTypeNfProto));
  mnl_attr_put_u32(message, NFTA_SET_KEY_LEN, htonl(sizeof(std::uint8_t)));
  mnl_attr_put_u32(message, NFTA_SET_FLAGS, htonl(NFT_SET_TIMEOUT));
  batch.end();
}

void remove_lease_set(const Options& options, MessageBuffer& batch) {
  batch.begin_inet(NFT_MSG_DELSET, 0,
                   {{NFTA_SET_TABLE, options.table}, {NFTA_SET_NAME, lease_set(options)}});
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
