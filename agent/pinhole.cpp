// Passes a pinhole's operations to the driver of its agent, on that agent's executor.
#include "agent/pinhole.hpp"

#include "agent/driver.hpp"

namespace simco::agent {

void Pinhole::start_open(Driver& driver, const Body& request, Completion done) {
  driver.enable_and_hold(request, std::move(done));
}

void Pinhole::start_lost(Driver& driver, HeldRule held, Completion done) {
  driver.keeper().lost(held, std::move(done));
}

void Pinhole::start_close(Driver& driver, HeldRule held, Completion done) {
  driver.end_rule(held, std::move(done));
}

bool Pinhole::convert_loss(const Outcome& outcome, RuleLoss& result) {
  if (!outcome.loss) return false;
  result = *outcome.loss;
  return true;
}

EnabledRule Pinhole::release() {
  if (const auto driver = std::exchange(driver_, {}).lock()) {
    Agent::run(driver, [held = held_](Driver* self) { self->keeper().let_go(held); });
  }
  held_ = {};
  return rule_;
}

void Pinhole::drop() {
  if (const auto driver = std::exchange(driver_, {}).lock()) {
    Agent::run(driver, [held = held_](Driver* self) {
      self->end_rule(held, [](const boost::system::error_code&, const Outcome&) {});
    });
  }
}

}  // namespace simco::agent
