// Makes the texts of the calls, and turns what has happened into the files of simco-sip.
#include "loadgen/sip/sip_script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "loadgen/output_file.hpp"
#include "loadgen/sip/sip_client.hpp"
#include "loadgen/sip/text.hpp"
#include "simco/net/transport_type.hpp"

namespace simco::loadgen {
namespace {

using nlohmann::ordered_json;

ordered_json parameters_of(const Settings& settings) {
  ordered_json parameters;
  settings.workload().write_parameters(parameters, settings.generator.seed);
  return parameters;
}

/// Where a message of that run has the number of the first call. Throws std::runtime_error.
std::uint32_t key(std::span<const std::byte> message, std::uint32_t run) {
  const auto call = sip::run_text(run) + fmt::format("{:08x}", 0);
  const auto at = sip::text_of(message).find(call);
  if (at == std::string_view::npos) throw std::runtime_error("a message has no number");
  return static_cast<std::uint32_t>(at + sip::kCallTextSize / 2);
}

/// The arrivals of simco-sip's samples.
std::string arrivals(const replay::Plan& plan, std::string_view run) {
  std::string text = "call,arrived_ns,copies,run\n";
  std::uint32_t number = 0;
  for (const auto& message : plan.messages) {
    if (message.arrived != 0) {
      text += fmt::format("{},{},{},{}\n", number, message.arrived_ns, message.arrived, run);
    }
    ++number;
  }
  return text;
}

}  // namespace

SipScript::SipScript(const Settings& settings, const SipSettings& box)
    : SipScript(settings, box, parameters_of(settings)) {}

SipScript::SipScript(const Settings& settings, const SipSettings& box,
                     const ordered_json& parameters)
    : run_(sip::run_of(settings.generator.seed)),
      t1_(parameters["t1"].get<std::int64_t>()),
      large_every_(parameters["large_every"]),
      box_(box.server),
      usual_(via_transport(settings.transport), parameters["invite_size"], run_),
      large_(
          via_transport(settings.transport),
          parameters["large_size"].is_null() ? parameters["invite_size"] : parameters["large_size"],
          run_) {}

replay::Exchange SipScript::exchange(std::uint64_t index, const replay::Place& place) const {
  const auto number = static_cast<std::uint32_t>(index);
  const bool is_large = large_every_ != 0 && number % large_every_ == large_every_ - 1;
  const auto& writer = is_large ? large_ : usual_;
  replay::Exchange result{number, std::vector<std::byte>(writer.size()), {}, {}};
  writer.write(number, result.request);
  if (!box_.response) return result;
  const auto invite = sip::parse_message(sip::text_of(result.request));
  const auto text = make_response(*invite, *box_.response, {place.source.host, place.source.port},
                                  box_.response_size);
  std::ranges::copy(std::as_bytes(std::span(text)), std::back_inserter(result.response));
  return result;
}

void SipScript::complete(replay_plan& plan, const replay::Exchange& first) const {
  const auto in_ns = [](std::chrono::nanoseconds time) { return time.count(); };
  plan.run = run_;
  plan.t1_ns = in_ns(t1_);
  plan.timer_b_ns = in_ns(sip::kTimerBInT1 * t1_);
  plan.request_key = key(first.request, run_);
  if (!first.response.empty()) plan.response_key = key(first.response, run_);
}

void write_files(const SipSettings& settings, const replay::Plan& plan) {
  std::uint64_t copies = 0;
  for (const auto& message : plan.messages) {
    if (message.arrived > 1) copies += message.arrived - 1;
  }
  ordered_json totals = ordered_json::object();
  totals[to_string(settings.server.listen.transports.front())] = {
      {"received_duplicate_chunks", plan.is.duplicates}};
  const ordered_json json = {{"copies", copies}, {"transport_stats", totals}};
  for (const auto& written :
       {write_text(settings.samples, arrivals(plan, sip::run_text(plan.is.run))),
        write_text(settings.json, json.dump(1) + "\n")}) {
    if (!written) throw std::runtime_error(written.error());
  }
}

}  // namespace simco::loadgen
