// The `sip` workload in a replay: the texts that simco-loadgen and simco-sip would send, and the
// files that simco-sip would write.
#pragma once

#include "loadgen/options.hpp"
#include "loadgen/replay/plan.hpp"
#include "loadgen/replay/script.hpp"
#include "loadgen/sip/compose.hpp"
#include "loadgen/sip/sip_options.hpp"

namespace simco::loadgen {

/// INVITEs, and the responses of a simco-sip with the settings `box`, which must outlive it.
class SipScript final : public replay::Script {
 public:
  SipScript(const Settings& settings, const SipSettings& box);

  replay::Exchange exchange(std::uint64_t index, const replay::Place& place) const override;
  void complete(replay_plan& plan, const replay::Exchange& first) const override;

 private:
  SipScript(const Settings& settings, const SipSettings& box,
            const nlohmann::ordered_json& parameters);

  std::uint32_t run_;
  std::chrono::milliseconds t1_;
  std::uint64_t large_every_;
  const SipServerOptions& box_;
  sip::InviteWriter usual_;
  sip::InviteWriter large_;
};

/// Writes the arrivals and the counts as simco-sip does. Throws std::runtime_error.
void write_files(const SipSettings& settings, const replay::Plan& plan);

}  // namespace simco::loadgen
