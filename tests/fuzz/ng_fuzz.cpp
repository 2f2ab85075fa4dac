// Any octets as datagrams of the ng protocol, which end with an octet 0, in front of a middlebox
// that grants everything: each request has one reply, and a call no more rules than its bound.
#include <cstdint>
#include <deque>
#include <string_view>

#include "agent/ng/codec.hpp"
#include "agent/ng/controller.hpp"
#include "simco/wire/assert.hpp"

namespace {

using namespace simco;

class Middlebox final : public ng::CallController::Host {
 public:
  explicit Middlebox(bool nat) : controller_(*this, options()) {
    Capabilities capabilities;
    capabilities.nat = nat;
    controller_.on_session(capabilities);
  }

  void take(std::string_view octets) {
    const auto datagram = ng::read_datagram(octets);
    if (!datagram || !datagram->dictionary) return;
    const auto request = ng::read_request(*datagram->dictionary);
    if (!request) return;
    const auto before = replies_;
    controller_.on_request(1, *request, {now_, {}});
    // A middlebox that is now and then too late.
    if (octets.size() % 5 != 0) settle();
    now_ += std::chrono::seconds(1);
    controller_.on_deadline(now_);
    settle();
    SIMCO_ASSERT(replies_ == before + 1);
    SIMCO_ASSERT(controller_.rule_count() <= controller_.call_count() * ng::kRulesOfCallMax * 2);
  }

 private:
  static ng::CallController::Options options() {
    ng::CallController::Options result;
    result.media.internal = {*parse_prefix("10.0.0.0/8")};
    return result;
  }
  void send(std::uint64_t transaction, const ng::SimcoRequest& request) override {
    queue_.emplace_back(transaction, request);
  }
  void reply(std::uint64_t, const nlohmann::json& reply) override {
    ++replies_;
    SIMCO_ASSERT(ng::decode_bencode(ng::encode_bencode(reply)));
    SIMCO_ASSERT(!ng::write_datagram("c", ng::Form::kJson, reply).empty());
  }
  void log(ng::LogLevel, const std::string& line) override { SIMCO_ASSERT(!line.contains('\n')); }
  void pass_on(std::uint64_t) override {}
  void on_changed(const ng::Call&) override {}
  void on_ended(const std::string&) override {}

  void settle() {
    while (!queue_.empty()) {
      const auto [id, request] = queue_.front();
      queue_.pop_front();
      ng::Granted granted{{++pids_}, {60}, {}};
      granted.outside = ng::tuple_of({*parse_address("198.51.100.1"), 40000, 2});
      if (const auto* change = std::get_if<PlcRequest>(&request))
        granted = {{}, change->lifetime, {}};
      controller_.on_result(id, granted, now_);
    }
  }

  ng::CallController controller_;
  Instant now_{std::chrono::hours(1)};
  std::deque<std::pair<std::uint64_t, ng::SimcoRequest>> queue_;
  std::uint32_t pids_ = 0;
  std::size_t replies_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  Middlebox middlebox(size % 2 == 0);
  while (!rest.empty()) {
    const auto end = rest.find('\0');
    middlebox.take(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return 0;
}
