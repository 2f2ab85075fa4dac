// The core counts only if it is given something that counts, and the fuzzers give it nothing. So
// they need neither the library behind Metrics nor its build, which has to fit the fuzzers'
// compiler.
#include "middlebox/observe/metrics.hpp"
#include "simco/wire/assert.hpp"

namespace simco::middlebox {

void Metrics::set(const Levels&) { SIMCO_ASSERT(false); }
void Metrics::session_opened() { SIMCO_ASSERT(false); }
void Metrics::session_refused(NegativeReplyCode) { SIMCO_ASSERT(false); }
void Metrics::authentication_failed() { SIMCO_ASSERT(false); }
void Metrics::restored(rule::RuleKind) { SIMCO_ASSERT(false); }
void Metrics::flushed() { SIMCO_ASSERT(false); }
void Metrics::took(Phase, Clock::duration, std::size_t) { SIMCO_ASSERT(false); }
void Metrics::batch_took(Clock::duration, std::size_t) { SIMCO_ASSERT(false); }
void Metrics::stored(Clock::duration, bool) { SIMCO_ASSERT(false); }
void Metrics::batch(std::size_t) { SIMCO_ASSERT(false); }
void Metrics::decided(const rule::Decision&) { SIMCO_ASSERT(false); }
void Metrics::replied(policy::Transaction, const Body&) { SIMCO_ASSERT(false); }

}  // namespace simco::middlebox
