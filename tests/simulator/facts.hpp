// The facts of the judges: the model, the enforced and the stored rules, and the agents' requests.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "tests/simulator/fault.hpp"
#include "tests/simulator/model.hpp"
#include "tests/simulator/sim_backend.hpp"
#include "tests/simulator/sim_store.hpp"
#include "tests/simulator/wall_clock.hpp"
#include "tests/support/virtual_time.hpp"

namespace simco::simulator {

struct Request {
  std::string who;
  std::uint32_t session = 0;
  Instant asked_at;
  Body body;
  std::uint32_t disables = 0;   ///< PID of the disable rule that it has made
  bool may_be_unknown = false;  ///< its agent was not configured at some time since
};
using Requests = std::map<std::uint32_t, Request>;  ///< by TID

class Facts {
 public:
  /// `store` is nullptr if rules end with the middlebox. All must outlive this.
  Facts(test::Model& its_model, const test::VirtualTime& time, const WallClock& its_wall,
        const SimStore* its_store)
      : model(its_model), wall(its_wall), store(its_store), time_(time) {}

  test::Model& model;
  const WallClock& wall;
  const SimStore* const store;
  Requests requests;  ///< in flight
  Requests orphans;   ///< whose sessions are over
  /// Enable rules that a disable rule was to end, however long it has lived.
  std::set<std::uint32_t> doomed;
  /// Agents that the configuration no longer has.
  std::set<std::string> unknown;

  Instant now() const { return time_.now(); }
  /// The backend of the middlebox that has the rules; set_backend() comes first.
  const SimBackend& backend() const { return *backend_; }
  void set_backend(const SimBackend& backend) { backend_ = &backend; }

  test::Model::Verdict decide(const Request& request, Instant at) const;
  /// The middlebox's choices for a rule, from the enforced rules.
  test::Given given_of(std::uint32_t pid) const;
  void check_end(const Request& request, std::uint32_t lifetime, Instant expires_at) const;
  /// Its time is over, or a disable rule ends it: it may go at any moment.
  bool is_due(std::uint32_t pid) const;
  bool explains(const Request& request, std::uint32_t pid, std::uint32_t lifetime) const;
  /// Any request in flight, or whose session is over, that `matches`.
  template <class Matches>
  Request* find_request(Matches matches) {
    for (auto* all : {&requests, &orphans}) {
      for (auto& [tid, request] : *all) {
        if (matches(tid, request)) return &request;
      }
    }
    return nullptr;
  }
  Request* creating_request(std::uint32_t pid);

 private:
  const test::VirtualTime& time_;
  const SimBackend* backend_ = nullptr;
};

}  // namespace simco::simulator
