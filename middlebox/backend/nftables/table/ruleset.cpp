// Writes messages that create, change and remove the table, its chains and its sets. The rules in
// the chains are written by write_rules().
#include "middlebox/backend/nftables/table/ruleset.hpp"

#include <netinet/in.h>
// The kernel's headers go after the C library's.
#include <libnftnl/chain.h>
#include <libnftnl/set.h>
#include <libnftnl/udata.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <span>

#include "middlebox/backend/match/key_layout.hpp"
#include "middlebox/backend/nftables/counters/drop_counters.hpp"
#include "middlebox/backend/nftables/table/chain_writer.hpp"
#include "middlebox/backend/nftables/table/lease.hpp"

namespace simco::backend::nftables {
namespace {

using match::Field;

// --- Objects -------------------------------------------------------------------------------------

/// Owner and persist; the kernel's header may be older than the kernel.
constexpr std::uint32_t kClaimFlags = kTableOwned | 4;

/// A claimed table cannot be loaded while its owner runs, and nft 1.0.6 saves it without "persist".
constexpr const char* kBeforeSaving = "; before you save it, see doc/nftables.md";

struct Hook {
  const char* chain;
  const char* type;
  std::uint32_t number;
  std::int32_t priority;
  bool (*wanted)(const Options& options);
};
bool guards(const Options& options) { return !options.guards.empty(); }
/// In a site's table, the chain input is ours only for guards.
bool judges_input(const Options& options) {
  return guards(options) || (options.nat && options.own_table);
}
bool translates(const Options& options) { return options.nat; }
bool untracks(const Options& options) {
  return forwards(options) && !tracks_all(options) && options.tracking == Tracking::kNotrack;
}
constexpr std::int32_t kPriorityRaw = -300;
constexpr std::int32_t kPriorityDstNat = -100;
constexpr std::int32_t kPriorityFilter = 0;
constexpr std::int32_t kPrioritySrcNat = 100;
constexpr std::array<Hook, 6> kHooks = {{
    {"forward", "filter", NF_INET_FORWARD, kPriorityFilter, forwards},
    {"untracked", "filter", NF_INET_PRE_ROUTING, kPriorityRaw, untracks},
    {"prerouting", "nat", NF_INET_PRE_ROUTING, kPriorityDstNat, translates},
    {"postrouting", "nat", NF_INET_POST_ROUTING, kPrioritySrcNat, translates},
    {"input", "filter", NF_INET_LOCAL_IN, kPriorityFilter, judges_input},
    {"output", "filter", NF_INET_LOCAL_OUT, kPriorityFilter, guards},
}};
struct Inner {
  const char* chain;
  bool (*wanted)(const Options& options);
};
bool tracks_some(const Options& options) { return !tracks_all(options); }
constexpr std::array<Inner, 13> kInner = {{
    {"from-outside4", forwards},
    {"from-outside6", forwards},
    {"from-inside4", forwards},
    {"from-inside6", forwards},
    {"errors-outside4", forwards},
    {"errors-outside6", forwards},
    {"errors-inside4", forwards},
    {"errors-inside6", forwards},
    {"led-back4", translates},
    {"led-back6", translates},
    {kGuardedChain, guards},
    {"guarded6", guards},
    {"fragments", tracks_some},
}};

/// The numbers by which nft knows its types, so that it can print our sets.
std::uint32_t field_type(Field field, IpVersion version) {
  constexpr std::uint32_t kNfProto = 2;
  constexpr std::uint32_t kIpv4Address = 7;
  constexpr std::uint32_t kIpv6Address = 8;
  constexpr std::uint32_t kInetProto = 12;
  constexpr std::uint32_t kInetService = 13;
  switch (field) {
    case Field::kVersion: return kNfProto;
    case Field::kProtocol: return kInetProto;
    case Field::kInternalAddress:
    case Field::kExternalAddress: return version == IpVersion::kIpv4 ? kIpv4Address : kIpv6Address;
    case Field::kInternalPort:
    case Field::kExternalPort: return kInetService;
  }
  return 0;
}

/// The number by which nft knows the type of such a key, so that it can print our sets.
std::uint32_t key_type(std::span<const Field> fields, IpVersion version) {
  std::uint32_t type = 0;
  for (const Field field : fields) type = type << 6 | field_type(field, version);
  return type;
}

/// Writes a message that says nothing more.
void put(MessageBuffer& batch, int type, std::uint16_t flags, MessageBuffer::Names names) {
  batch.begin_inet(type, flags, names);
  batch.end();
}

/// User data for nft: a comment, of `type`.
std::string comment_data(std::uint8_t type, const std::string& comment) {
  return std::string{static_cast<char>(type), static_cast<char>(comment.size() + 1)} + comment +
         '\0';
}

void add_chain(const Options& options, const std::string& name, const Hook* hook,
               MessageBuffer& batch, const std::string& comment = {}) {
  auto* message = batch.begin_inet(NFT_MSG_NEWCHAIN, NLM_F_CREATE);
  const std::unique_ptr<nftnl_chain, decltype(&nftnl_chain_free)> chain(nftnl_chain_alloc(),
                                                                        &nftnl_chain_free);
  nftnl_chain_set_str(chain.get(), NFTNL_CHAIN_TABLE, options.table.c_str());
  nftnl_chain_set_str(chain.get(), NFTNL_CHAIN_NAME, name.c_str());
  if (hook != nullptr) {
    nftnl_chain_set_str(chain.get(), NFTNL_CHAIN_TYPE, hook->type);
    nftnl_chain_set_u32(chain.get(), NFTNL_CHAIN_HOOKNUM, hook->number);
    nftnl_chain_set_s32(chain.get(), NFTNL_CHAIN_PRIO, hook->priority);
    nftnl_chain_set_u32(chain.get(), NFTNL_CHAIN_POLICY, NF_ACCEPT);
  }
  if (!comment.empty()) {
    const auto data = comment_data(NFTNL_UDATA_CHAIN_COMMENT, comment);
    nftnl_chain_set_data(chain.get(), NFTNL_CHAIN_USERDATA, data.data(),
                         static_cast<std::uint32_t>(data.size()));
  }
  nftnl_chain_nlmsg_build_payload(message, chain.get());
  batch.end();
}

/// Every element of the set gets a counter. Not the kernel's `last` (time of the last use): nft
/// 1.0.6 (Debian 12) crashes when it lists or looks up a set with it.
void put_counter(nlmsghdr* message) {
  auto* expression = mnl_attr_nest_start(message, NFTA_SET_EXPR);
  mnl_attr_put_strz(message, NFTA_EXPR_NAME, "counter");
  mnl_attr_nest_end(message, mnl_attr_nest_start(message, NFTA_EXPR_DATA));
  mnl_attr_nest_end(message, expression);
}

}  // namespace

std::vector<std::string> Ruleset::entry_chains() const {
  std::vector<std::string> names;
  for (const auto& hook : kHooks) {
    if (hook.wanted(options_)) names.push_back(name_in_kernel(options_, hook.chain));
  }
  return names;
}

std::vector<std::string> Ruleset::chains() const {
  auto names = entry_chains();
  for (const auto& inner : kInner) {
    if (inner.wanted(options_)) names.push_back(name_in_kernel(options_, inner.chain));
  }
  return names;
}

void Ruleset::add_frame(bool claimed, MessageBuffer& batch) const {
  if (options_.own_table) {
    auto* message =
        batch.begin_inet(NFT_MSG_NEWTABLE, NLM_F_CREATE, {{NFTA_TABLE_NAME, options_.table}});
    if (claimed) mnl_attr_put_u32(message, NFTA_TABLE_FLAGS, htonl(kClaimFlags));
    std::string comment = kTableComment;
    if (claimed) comment += kBeforeSaving;
    const auto userdata = comment_data(NFTNL_UDATA_TABLE_COMMENT, comment);
    mnl_attr_put(message, NFTA_TABLE_USERDATA, userdata.size(), userdata.data());
    batch.end();
    for (const auto& hook : kHooks) {
      if (hook.wanted(options_))
        add_chain(options_, name_in_kernel(options_, hook.chain), &hook, batch);
    }
  }
  for (const auto& [chain, wanted] : kInner) {
    if (!wanted(options_)) continue;
    // A later start asks which guards are in force.
    const bool guarded = wanted == guards;
    add_chain(options_, name_in_kernel(options_, chain), nullptr, batch,
              guarded ? guard_text(options_.guards, kCommentOctets) : "");
  }
  add_drop_counters(options_, batch);
  if (options_.leased) add_lease_set(options_, batch);
}

void Ruleset::add_set(const Mask& mask, MessageBuffer& batch) const {
  auto* message = batch.begin_inet(NFT_MSG_NEWSET, NLM_F_CREATE);
  const std::unique_ptr<nftnl_set, decltype(&nftnl_set_free)> set(nftnl_set_alloc(),
                                                                  &nftnl_set_free);
  const auto fields = fields_of(mask);
  std::uint32_t flags = NFT_SET_TIMEOUT;
  if (mask.intervals) flags |= NFT_SET_INTERVAL | NFT_SET_CONCAT;
  if (mask.translates()) flags |= NFT_SET_MAP;
  nftnl_set_set_str(set.get(), NFTNL_SET_TABLE, options_.table.c_str());
  nftnl_set_set_str(set.get(), NFTNL_SET_NAME, set_in_kernel(options_, mask).c_str());
  static std::uint32_t id = 0;
  nftnl_set_set_u32(set.get(), NFTNL_SET_ID, ++id);
  nftnl_set_set_u32(set.get(), NFTNL_SET_FAMILY, NFPROTO_INET);
  nftnl_set_set_u32(set.get(), NFTNL_SET_KEY_TYPE, key_type(fields, mask.version));
  nftnl_set_set_u32(set.get(), NFTNL_SET_KEY_LEN, key_size(mask));
  if (mask.translates()) {
    constexpr std::array kTarget = {Field::kInternalAddress, Field::kInternalPort};
    const auto data = std::span(kTarget).first(mask.target_port ? 2 : 1);
    nftnl_set_set_u32(set.get(), NFTNL_SET_DATA_TYPE, key_type(data, mask.version));
    nftnl_set_set_u32(set.get(), NFTNL_SET_DATA_LEN, target_octets(mask, {}).size);
  }
  nftnl_set_set_u32(set.get(), NFTNL_SET_FLAGS, flags);
  if (mask.intervals) {
    std::array<std::uint8_t, 8> lengths{};
    for (std::size_t i = 0; i < fields.size(); ++i) {
      lengths[i] = static_cast<std::uint8_t>(octets_of(fields[i], mask.version));
    }
    nftnl_set_set_data(set.get(), NFTNL_SET_DESC_CONCAT, lengths.data(),
                       static_cast<std::uint32_t>(fields.size()));
  }
  nftnl_set_nlmsg_build_payload(message, set.get());
  if (options_.counters && !mask.translates()) put_counter(message);
  batch.end();
}

void Ruleset::remove_set(const Mask& mask, MessageBuffer& batch) const {
  put(batch, NFT_MSG_DELSET, 0,
      {{NFTA_SET_TABLE, options_.table}, {NFTA_SET_NAME, set_in_kernel(options_, mask)}});
}

void Ruleset::flush_chain(const std::string& name, MessageBuffer& batch) const {
  put(batch, NFT_MSG_DELRULE, 0, {{NFTA_RULE_TABLE, options_.table}, {NFTA_RULE_CHAIN, name}});
}

void Ruleset::replace_rules(const std::vector<Mask>& masks, MessageBuffer& batch) const {
  for (const auto& name : chains()) flush_chain(name, batch);
  write_rules(options_, masks, batch);
}

void Ruleset::try_to_claim(MessageBuffer& batch) const {
  add_trial_table(kClaimFlags, batch);
  remove_trial_table(batch);
}

void Ruleset::try_to_check_sources(MessageBuffer& batch) const {
  try_rule([](Rule& rule) -> Rule& { return rule.unroutable_source(); }, batch);
}

void Ruleset::try_to_defragment(MessageBuffer& batch) const {
  try_rule([](Rule& rule) -> Rule& { return rule.protocol(IPPROTO_UDP).defragment(); }, batch);
}

void Ruleset::try_rule(Rule& (*add)(Rule&), MessageBuffer& batch) const {
  add_trial_table(0, batch);
  Options trial;
  trial.table = trial_table();
  add_chain(trial, "trial", nullptr, batch);
  Rule rule(trial.table, "trial");
  add(rule).add_to(batch);
  remove_trial_table(batch);
}

// A name that no other program uses: otherwise the trial fails and that table stays.
std::string Ruleset::trial_table() const { return "simco-trial-" + std::to_string(::getpid()); }

void Ruleset::add_trial_table(std::uint32_t flags, MessageBuffer& batch) const {
  auto* message = batch.begin_inet(NFT_MSG_NEWTABLE, NLM_F_CREATE | NLM_F_EXCL,
                                   {{NFTA_TABLE_NAME, trial_table()}});
  if (flags != 0) mnl_attr_put_u32(message, NFTA_TABLE_FLAGS, htonl(flags));
  batch.end();
}

void Ruleset::remove_trial_table(MessageBuffer& batch) const {
  put(batch, NFT_MSG_DELTABLE, 0, {{NFTA_TABLE_NAME, trial_table()}});
}

void Ruleset::remove_table(MessageBuffer& batch) const {
  put(batch, NFT_MSG_DELTABLE, 0, {{NFTA_TABLE_NAME, options_.table}});
}

void Ruleset::remove_any_table(MessageBuffer& batch) const {
  put(batch, NFT_MSG_NEWTABLE, NLM_F_CREATE, {{NFTA_TABLE_NAME, options_.table}});
  remove_table(batch);
}

void Ruleset::clear_site_table(const TableState& state, MessageBuffer& batch) const {
  // Those of an earlier start with other options as well.
  const auto flush = [&](const char* chain) {
    const auto name = name_in_kernel(options_, chain);
    if (state.chains.contains(name)) flush_chain(name, batch);
  };
  for (const auto& hook : kHooks) flush(hook.chain);
  for (const auto& inner : kInner) flush(inner.chain);
  for (const auto& inner : kInner) {
    const auto name = name_in_kernel(options_, inner.chain);
    if (!state.chains.contains(name)) continue;
    put(batch, NFT_MSG_DELCHAIN, 0, {{NFTA_CHAIN_TABLE, options_.table}, {NFTA_CHAIN_NAME, name}});
  }
  for (const auto& set : state.sets) {
    if (!set.starts_with(kSitePrefix)) continue;
    put(batch, NFT_MSG_DELSET, 0, {{NFTA_SET_TABLE, options_.table}, {NFTA_SET_NAME, set}});
  }
  remove_drop_counters(options_, batch);
}

}  // namespace simco::backend::nftables
