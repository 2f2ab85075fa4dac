// Dumps the table, its chains, rules and sets, and keeps the properties that are compared with
// ours.
#include "middlebox/backend/nftables/table/ruleset.hpp"

#include <arpa/inet.h>
#include <endian.h>
#include <netinet/in.h>
// The kernel's headers go after the C library's.
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>

namespace simco::backend::nftables {
namespace {

[[noreturn]] void fail(int error, const char* what) {
  throw std::system_error(error, std::generic_category(), what);
}

std::string text_of(const nlattr* attribute) {
  const auto* text = static_cast<const char*>(mnl_attr_get_payload(attribute));
  return {text, ::strnlen(text, mnl_attr_get_payload_len(attribute))};
}

std::uint64_t handle_of(const nlattr* attribute) { return be64toh(mnl_attr_get_u64(attribute)); }

/// The text of user data that is a comment alone: its type and size, and the text.
std::string comment_of(const nlattr* attribute) {
  const auto* text = static_cast<const char*>(mnl_attr_get_payload(attribute));
  const std::size_t size = mnl_attr_get_payload_len(attribute);
  return size <= 2 ? std::string() : std::string(text + 2, ::strnlen(text + 2, size - 2));
}

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

template <typename Act>
void dump(NetlinkSocket& socket, int message, std::uint16_t table_attribute,
          const std::string& table, Act&& act) {
  MessageBuffer& ask = socket.question();
  ask.begin_inet(message, NLM_F_DUMP, {{table_attribute, table}});
  ask.end();
  const int error = socket.request(ask, act);
  // The ruleset has been changed meanwhile; the caller notices by its generation.
  if (error != 0 && error != EINTR) fail(error, "nf_tables dump");
}

}  // namespace

TableState look_for_table(NetlinkSocket& socket, const std::string& name) {
  TableState state;
  MessageBuffer& ask = socket.question();
  ask.begin_inet(NFT_MSG_GETTABLE, NLM_F_ACK, {{NFTA_TABLE_NAME, name}});
  ask.end();
  const int error =
      socket.request(ask, [&](const nlmsghdr* message) { read_table(message, state); });
  socket.discard();
  if (error != 0 && error != ENOENT) fail(error, "nf_tables");
  return state;
}

TableState look_at_table(NetlinkSocket& socket, const std::string& name,
                         const std::vector<std::string>& chains) {
  TableState state = look_for_table(socket, name);
  if (!state.exists) return state;
  dump(socket, NFT_MSG_GETCHAIN, NFTA_CHAIN_TABLE, name, [&](const nlmsghdr* message) {
    std::string table;
    std::string chain;
    std::string comment;
    for_each_attribute(attributes_of(message), [&](std::uint16_t type, const nlattr* attribute) {
      if (type == NFTA_CHAIN_TABLE) table = text_of(attribute);
      if (type == NFTA_CHAIN_NAME) chain = text_of(attribute);
      if (type == NFTA_CHAIN_USERDATA) comment = comment_of(attribute);
    });
    if (table != name) return;
    if (chain.ends_with(kGuardedChain)) state.guards = comment;
    state.chains.insert(chain);
  });
  bool leads = false;  // any rule to guarded ports
  dump(socket, NFT_MSG_GETRULE, NFTA_RULE_TABLE, name, [&](const nlmsghdr* message) {
    std::string table;
    std::string chain;
    std::uint64_t handle = 0;
    for_each_attribute(attributes_of(message), [&](std::uint16_t type, const nlattr* attribute) {
      if (type == NFTA_RULE_TABLE) table = text_of(attribute);
      if (type == NFTA_RULE_CHAIN) chain = text_of(attribute);
      if (type == NFTA_RULE_HANDLE) handle = handle_of(attribute);
    });
    leads |= table == name && chain.ends_with("input");
    const bool wanted = std::find(chains.begin(), chains.end(), chain) != chains.end();
    if (table == name && wanted) state.rules.push_back(handle);
  });
  if (!leads) state.guards.clear();  // somebody has emptied the chain: nothing is guarded
  dump(socket, NFT_MSG_GETSET, NFTA_SET_TABLE, name, [&](const nlmsghdr* message) {
    for_each_attribute(attributes_of(message), [&](std::uint16_t type, const nlattr* attribute) {
      if (type == NFTA_SET_NAME) state.sets.push_back(text_of(attribute));
    });
  });
  return state;
}

}  // namespace simco::backend::nftables
