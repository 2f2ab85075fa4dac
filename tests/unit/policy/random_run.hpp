// Requests at random to engine and pipeline, and what the model says of each reply and event.
#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/support/model.hpp"
#include "tests/support/pipeline_fixture.hpp"
#include "tests/support/request_generator.hpp"

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
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  /// With a backend that answers at some time, and refuses some of what it is asked.
  void send(const std::vector<Body>& burst);
  void pass_time();

  void check(const Body& request, const Body& reply);
  void check_read(const Body& request, const Body& reply);
  void check_granted(const Body& request, const Body& reply);
  /// What the middlebox has chosen, by its reply to a request that it granted.
  test::Given given_by(const Body& request, const Body& reply) const;
  /// Everybody who sees the owner has heard of exactly this, but who_ not of what it asked for.
  void expect_events();

  std::mt19937 random_;
  test::PipelineFixture box_;
  test::Model model_;
  test::RequestGenerator generator_{random_, model_};
  std::map<std::string, test::PipelineFixture::Agent*> agents_;
  std::string who_;
  std::vector<test::Happened> happened_;
  std::uint32_t next_tid_ = 0;
  bool refused_ = false;  ///< by the backend
};

}  // namespace simco::policy
