// Calls are CBOR, as call_codec.hpp has them; rules that must end are SIMCO messages.
#include "agent/ng/serve/state_store.hpp"

#include <nlohmann/json.hpp>

#include "simco/wire/codec.hpp"

namespace simco::ng {
namespace {

constexpr sqlite::Form kForm = {
    .program = "simco-ng",
    .contents = "calls",
    .application = 0x534E'6743,  // "SNgC"
    .schema = 1,
    .tables =
        "CREATE TABLE calls(id BLOB PRIMARY KEY, document BLOB NOT NULL) STRICT, "
        "WITHOUT ROWID;",
};

Body status_of(const KeptRule& rule) {
  if (!rule.enabled) {
    PrsReply reserved{};
    reserved.pid = rule.pid;
    reserved.outside = rule.outside;
    return reserved;
  }
  PesReply enabled{};
  enabled.pid = rule.pid;
  enabled.parameters.direction = rule.enabled->direction;
  enabled.internal = rule.enabled->internal;
  enabled.external = rule.enabled->external;
  enabled.inside = enabled.outside = rule.outside;
  return enabled;
}

/// The rule as its status (8.6), in the octets of the RFC.
std::string octets_of(const KeptRule& rule) {
  const auto status = status_of(rule);
  std::string octets(encoded_size(status), 0);
  ByteWriter writer(std::as_writable_bytes(std::span(octets)));
  SIMCO_ASSERT(encode(TransactionId{0}, status, writer));
  return octets;
}

std::optional<KeptRule> rule_in(std::string_view octets) {
  const auto message = decode(std::as_bytes(std::span(octets)));
  if (!message) return std::nullopt;
  if (const auto* reserved = std::get_if<PrsReply>(&message->body)) {
    return KeptRule{reserved->pid, std::nullopt, reserved->outside, {}};
  }
  const auto* enabled = std::get_if<PesReply>(&message->body);
  if (enabled == nullptr) return std::nullopt;
  const KeptRule::Terms terms{enabled->internal, enabled->external, enabled->parameters.direction};
  return KeptRule{enabled->pid, terms, enabled->outside, {}};
}

}  // namespace

StateStore::StateStore(const std::string& path)
    : database_(path, kForm, sqlite::Sync::kProcess),
      put_(database_.prepare("INSERT OR REPLACE INTO calls(id, document) VALUES(?1, ?2)")),
      erase_(database_.prepare("DELETE FROM calls WHERE id = ?1")) {
  database_.run(
      "CREATE TABLE IF NOT EXISTS unended(pid INTEGER PRIMARY KEY, status BLOB NOT NULL) STRICT");
  put_unended_ = database_.prepare("INSERT OR REPLACE INTO unended(pid, status) VALUES(?1, ?2)");
  erase_unended_ = database_.prepare("DELETE FROM unended WHERE pid = ?1");
}

std::vector<Call> StateStore::calls(Moment now, std::size_t& lost) {
  std::vector<Call> result;
  auto row = database_.prepare("SELECT document FROM calls");
  while (row.next()) {
    const auto document = row.octets(0);
    try {
      result.push_back(read_call(nlohmann::json::from_cbor(document.begin(), document.end()), now));
    } catch (const std::exception&) {
      ++lost;
    }
  }
  return result;
}

void StateStore::put(const Call& call, Moment now) {
  std::string document;
  nlohmann::json::to_cbor(write_call(call, now), document);
  put_.bind_octets(1, call.id);
  put_.bind_octets(2, document);
  put_.run();
}

void StateStore::erase(const std::string& call_id) {
  erase_.bind_octets(1, call_id);
  erase_.run();
}

std::vector<KeptRule> StateStore::unended(std::size_t& lost) {
  std::vector<KeptRule> result;
  auto row = database_.prepare("SELECT status FROM unended");
  while (row.next()) {
    const auto rule = rule_in(row.octets(0));
    rule ? result.push_back(*rule) : void(++lost);
  }
  return result;
}

void StateStore::put_unended(const KeptRule& rule) {
  const auto octets = octets_of(rule);
  put_unended_.bind(1, rule.pid.value);
  put_unended_.bind_octets(2, octets);
  put_unended_.run();
}

void StateStore::erase_unended(PolicyRuleId pid) {
  erase_unended_.bind(1, pid.value);
  erase_unended_.run();
}

}  // namespace simco::ng
