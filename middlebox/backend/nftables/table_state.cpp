#include "middlebox/backend/nftables/table_state.hpp"

#include <arpa/inet.h>
#include <endian.h>
#include <netinet/in.h>
// The kernel's headers go after the C library's.
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>

#include "middlebox/backend/nftables/ruleset.hpp"

namespace simco::backend::nftables {
namespace {

constexpr std::uint16_t type_of(int message) {
  return static_cast<std::uint16_t>((NFNL_SUBSYS_NFTABLES << 8) | message);
}

[[noreturn]] void fail(int error, const char* what) {
  throw std::system_error(error, std::generic_category(), what);
}

std::string text_of(const nlattr* attribute) {
  const auto* text = static_cast<const char*>(mnl_attr_get_payload(attribute));
  return {text, ::strnlen(text, mnl_attr_get_payload_len(attribute))};
}

std::uint64_t handle_of(const nlattr* attribute) { return be64toh(mnl_attr_get_u64(attribute)); }

void read_table(const nlmsghdr* message, TableState& state) {
  state.exists = true;
  for_each_attribute(attributes_of(message), [&](std::uint16_t type, const nlattr* attribute) {
    if (type == NFTA_TABLE_FLAGS) state.flags = ntohl(mnl_attr_get_u32(attribute));
    if (type == NFTA_TABLE_HANDLE) state.handle = handle_of(attribute);
    if (type == NFTA_TABLE_USERDATA) {
      const std::string_view data(static_cast<const char*>(mnl_attr_get_payload(attribute)),
                                  mnl_attr_get_payload_len(attribute));
      state.ours = data.find(kTableComment) != std::string_view::npos;
    }
  });
}

/// Name and table in an answer about a chain, set or rule, and a number that goes with it.
struct Named {
  std::string table;
  std::string name;
  std::uint64_t number = 0;
};

template <typename Act>
void dump(NetlinkSocket& socket, int message, std::uint16_t table_attribute,
          const std::string& table, Act&& act) {
  MessageBuffer ask;
  auto* request = ask.begin(type_of(message), NLM_F_DUMP, NFPROTO_INET);
  mnl_attr_put_strz(request, table_attribute, table.c_str());
  ask.end();
  const int error = socket.request(ask, act);
  // Somebody has changed the ruleset meanwhile; whoever asked will see that by its generation.
  if (error != 0 && error != EINTR) fail(error, "nf_tables dump");
}

}  // namespace

TableState look_at_table(NetlinkSocket& socket, const std::string& name,
                         const std::vector<std::string>& chains) {
  TableState state;
  MessageBuffer ask;
  auto* request = ask.begin(type_of(NFT_MSG_GETTABLE), NLM_F_ACK, NFPROTO_INET);
  mnl_attr_put_strz(request, NFTA_TABLE_NAME, name.c_str());
  ask.end();
  const int error =
      socket.request(ask, [&](const nlmsghdr* message) { read_table(message, state); });
  socket.discard();
  if (error == ENOENT) return state;
  if (error != 0) fail(error, "nf_tables");
  dump(socket, NFT_MSG_GETCHAIN, NFTA_CHAIN_TABLE, name, [&](const nlmsghdr* message) {
    Named chain;
    for_each_attribute(attributes_of(message), [&](std::uint16_t type, const nlattr* attribute) {
      if (type == NFTA_CHAIN_TABLE) chain.table = text_of(attribute);
      if (type == NFTA_CHAIN_NAME) chain.name = text_of(attribute);
      if (type == NFTA_CHAIN_USE) chain.number = ntohl(mnl_attr_get_u32(attribute));
    });
    if (chain.table == name) state.chains[chain.name] = static_cast<std::uint32_t>(chain.number);
  });
  dump(socket, NFT_MSG_GETRULE, NFTA_RULE_TABLE, name, [&](const nlmsghdr* message) {
    Named rule;
    for_each_attribute(attributes_of(message), [&](std::uint16_t type, const nlattr* attribute) {
      if (type == NFTA_RULE_TABLE) rule.table = text_of(attribute);
      if (type == NFTA_RULE_CHAIN) rule.name = text_of(attribute);
      if (type == NFTA_RULE_HANDLE) rule.number = handle_of(attribute);
    });
    const bool wanted = std::find(chains.begin(), chains.end(), rule.name) != chains.end();
    if (rule.table == name && wanted) state.rules.push_back(rule.number);
  });
  dump(socket, NFT_MSG_GETSET, NFTA_SET_TABLE, name, [&](const nlmsghdr* message) {
    for_each_attribute(attributes_of(message), [&](std::uint16_t type, const nlattr* attribute) {
      if (type == NFTA_SET_NAME) state.sets.push_back(text_of(attribute));
    });
  });
  return state;
}

}  // namespace simco::backend::nftables
