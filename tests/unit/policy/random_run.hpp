// Requests at random to a middlebox core, and what the model says of each reply and event.
#pragma once

#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/support/middlebox_core.hpp"
#include "tests/unit/policy/model.hpp"

namespace simco::policy {

class RandomRun {
 public:
  RandomRun(Mode mode, unsigned seed);

  /// Some requests of one agent, each sent without waiting for the reply to the one before; they
  /// must come out as if it had waited (doc/rfc4540.md, reading 26).
  void step();

  std::map<std::string, int> outcomes;  ///< how often each reply came, to see that the run is one
  std::size_t ended = 0;                ///< rules, by disable rules
  std::size_t shared = 0;               ///< bindings

 private:
  using Code = Model::Code;
  using Need = Model::Need;

  // --- What is asked ---

  /// A request, and how its reply is compared with what the model makes of it.
  struct Asked {
    Body request;
    std::function<void(const Body&)> check;
  };
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  AddressTuple tuple(Location location, std::uint8_t protocol);
  std::uint8_t protocol();
  PerParameterSet parameters();
  Lifetime lifetime();
  std::uint32_t some_pid();
  std::optional<GroupId> some_group();
  Asked some_request();
  Asked per();
  Asked prr();
  Asked pea();
  Asked pdr();
  Asked plc();
  Asked prs();
  Asked prl();
  /// With a backend that answers at some time, and refuses some of what it is asked.
  void send(const std::vector<Asked>& burst);
  void pass_time();

  // --- What came of it ---

  /// Compares a reply with what is wanted; true where the request was granted.
  bool granted(const Body& reply, Code wanted);
  void check_per(const PerRequest& request, const Body& reply);
  void check_prr(const PrrRequest& request, const Body& reply);
  void check_pea(const PeaRequest& request, const Body& reply);
  void check_pdr(const PdrRequest& request, const Body& reply);
  void check_plc(std::uint32_t pid, Lifetime wish, const Body& reply);
  void check_prs(std::uint32_t pid, const Body& reply);
  void check_prl(const Body& reply);
  void check_outside(const PerReply& per, const PerRequest& request);
  void check_binding(const AddressTuple& given, bool outside, const PerRequest& request);
  /// The tuple that the NAT gave is free, and what was asked for.
  void check_given(const AddressTuple& given, bool outside, std::uint8_t protocol, Need need);
  Lifetime grant(Lifetime wanted) const;
  Instant after(Lifetime lifetime) const;
  void remember(std::uint32_t pid, std::uint32_t group, const std::optional<GroupId>& asked,
                ModelRule rule);
  /// Everybody who sees the owner has heard of exactly this, but who_ not of what it asked for.
  void expect_events();
  struct Happened {
    std::uint32_t pid;
    std::uint32_t lifetime;
    std::string owner;
    bool asked_for = true;
  };

  std::mt19937 random_;
  test::MiddleboxCore box_;
  Model model_;
  std::map<std::string, test::MiddleboxCore::Agent*> agents_;
  std::string who_;
  std::vector<Happened> happened_;
  std::uint32_t next_tid_ = 0;
  bool refused_ = false;  ///< by the backend
};

}  // namespace simco::policy
