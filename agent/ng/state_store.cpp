#include "agent/ng/state_store.hpp"

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

}  // namespace

StateStore::StateStore(const std::string& path)
    : database_(path, kForm, sqlite::Sync::kProcess),
      put_(database_.prepare("INSERT OR REPLACE INTO calls(id, document) VALUES(?1, ?2)")),
      erase_(database_.prepare("DELETE FROM calls WHERE id = ?1")) {}

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

}  // namespace simco::ng
