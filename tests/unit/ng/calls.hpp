// Calls between parties, driven as a proxy drives them, against the real policy engine in virtual
// time.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "agent/ng/call/call_codec.hpp"
#include "agent/ng/call/controller.hpp"
#include "tests/support/pipeline_fixture.hpp"
#include "tests/unit/ng/families.hpp"

namespace simco::test {

/// An SDP with a medium for each of `media`, such as "audio 6000 RTP/AVP 0|a=rtcp-mux".
std::string sdp(const std::string& address, const std::vector<std::string>& media);

/// A party inside, one outside, and the rule between them.
inline const std::string kInside = sdp("10.0.0.5", {"audio 6000 RTP/AVP 0"});
inline const std::string kOutside = sdp("192.0.2.7", {"audio 7000 RTP/AVP 0"});
inline const std::string kRule = "10.0.0.5:6000/2 192.0.2.7:7000/2";

/// Returns the text `key` of a reply; empty if it has none.
std::string text(const nlohmann::json& reply, const char* key);

class Calls : private ng::CallHost {
 public:
  enum class Box : std::uint8_t { kFirewall, kNat };
  /// The addresses of calls that are made from now on. What they are asked and tell is in IPv4.
  static inline Family family = Family::kIpv4;

  explicit Calls(Box box) : Calls(box, options()) {}
  Calls(Box box, ng::CallOptions options);

  static ng::CallOptions options();

  /// Sends a request and returns its reply, or null if there is none yet.
  nlohmann::json ask(nlohmann::json request);
  /// An offer of `from`. `more`: further keys.
  nlohmann::json offer(const std::string& from, const std::string& text,
                       nlohmann::json more = nlohmann::json::object());
  nlohmann::json answer(const std::string& from, const std::string& to, const std::string& text,
                        nlohmann::json more = nlohmann::json::object());
  nlohmann::json end(const std::string& from, nlohmann::json more = nlohmann::json::object());

  /// The rules that the middlebox has, in ascending order of their PIDs, as "PID internal
  /// external", and "PID reserved" for reservations, each with " = outside" on a NAT.
  std::string rules();
  /// The same without PIDs and outside addresses.
  std::string open();
  /// Whether there is this rule, whatever else there is: "internal external".
  bool is_open(const std::string& rule);
  /// Rules that are stored because they must end.
  std::size_t unended() const { return unended_.size(); }
  /// Requests that the middlebox has not replied to.
  std::size_t under_way() const { return queue_.size(); }
  /// Lets time pass for all.
  void pass(std::chrono::milliseconds time);
  /// Opens a session; what was asked while there was none is asked then.
  void connect();
  /// What is under way gets no reply.
  void lose_session();
  /// The middlebox starts without the rules that it had, and with PIDs from 1.
  void restart_middlebox();
  /// Another process with the agent's name opens a pinhole.
  void other_enables(const std::string& internal, const std::string& external);
  /// Ends a rule, as an administrator would.
  void end_rule(PolicyRuleId pid);
  /// The reply to a request that had none yet; null: still none.
  nlohmann::json late_reply(std::uint64_t id) const;
  std::uint64_t last_request() const { return requests_; }

  ng::CallController& controller() { return *controller_; }
  /// What is stored of each call.
  const std::map<std::string, std::vector<std::uint8_t>>& documents() const { return stored_; }
  /// Kills simco-ng, and starts it with what it has stored.
  void restart();

  std::function<void()> on_reply;  ///< called before a reply is known
  bool silent = false;  ///< the middlebox does not reply; when set back, it replies to all
  bool stores = true;
  std::vector<std::string> lines;        ///< of the log
  std::size_t sent = 0;                  ///< transactions
  std::vector<std::uint64_t> passed_on;  ///< requests that the media proxy has got
  std::string counters_fault;            ///< why counters cannot be read; empty: they can
  bool counters_late = false;            ///< nor is the question answered; when set back, all are
  std::size_t questions = 0;             ///< for counters
  std::size_t media_timeouts = 0;
  /// Packets of 100 octets pass now, from or to an internal port, by the rule that covers it.
  void packets(std::uint16_t internal_port, std::uint64_t count);
  /// The middlebox is started again, keeps its rules, and counts from 0.
  void reset_counters();
  /// The media proxy replies to the last request.
  nlohmann::json upstream_replies(const nlohmann::json& reply);

 private:
  void send(std::uint64_t transaction, const Body& request,
            std::optional<PolicyRuleId> rule) override;
  void reply(std::uint64_t request, const nlohmann::json& reply) override;
  void log(ng::LogLevel level, const std::string& line) override;
  void pass_on(std::uint64_t request, const std::string& dictionary) override;
  void ask_counters(std::uint64_t question, const std::vector<PolicyRuleId>& pids) override;
  void on_media_timeout() override { ++media_timeouts; }
  ng::Counted counted(const std::vector<PolicyRuleId>& asked);
  void on_changed(const ng::Call& call) override;
  void on_ended(const std::string& call_id) override { stored_.erase(call_id); }
  void on_unended(const KeptRule& rule) override { unended_[rule.pid] = rule; }
  void on_rule_gone(PolicyRuleId pid) override { EXPECT_EQ(unended_.erase(pid), 1U); }
  void start_middlebox(Instant now);
  ng::Moment moment() const;
  void settle();
  std::vector<PolicyRuleId> pids();

  std::string call_id_ = "call-1";
  Translator translator_{family};
  Box box_;
  std::optional<PipelineFixture> core_;
  PipelineFixture::Agent* agent_ = nullptr;
  ng::CallOptions options_;
  std::optional<ng::CallController> controller_;
  std::map<std::string, std::vector<std::uint8_t>> stored_;
  bool connected_ = false;
  std::uint64_t requests_ = 0;
  std::size_t events_ = 0;
  std::deque<std::pair<std::uint64_t, Body>> queue_;
  std::map<PolicyRuleId, KeptRule> unended_;
  std::map<std::uint64_t, nlohmann::json> replies_;
  /// What the middlebox has counted, by internal port, and when the last packet passed.
  struct PortTraffic {
    std::uint64_t packets = 0;
    Instant last{};
  };
  std::map<PolicyRuleId, std::map<std::uint16_t, PortTraffic>> traffic_;
  Instant counts_since_{};
  std::uint32_t run_ = 1;  ///< of the middlebox
  std::deque<std::pair<std::uint64_t, std::vector<PolicyRuleId>>> asked_;
};

/// A call that is up, caller inside.
struct Established : Calls {
  explicit Established(Box box = Box::kFirewall) : Calls(box) {
    offer("a", kInside);
    answer("a", "b", kOutside);
  }
};

}  // namespace simco::test
