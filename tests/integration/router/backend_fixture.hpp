// A backend on a router of its own, and changes for it.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "middlebox/backend/nftables/nftables_backend.hpp"
#include "middlebox/config/backends/table.hpp"
#include "middlebox/config/options.hpp"
#include "simco/wire/tuple_text.hpp"
#include "tests/support/network.hpp"
#include "tests/support/program.hpp"

namespace simco::test {

using rule::ChangeResult;
using rule::RuleChange;
using Results = std::vector<ChangeResult>;

/// A change that leaves everything of the rule but its lifetime as it was.
inline RuleChange of(RuleChange::Kind kind, const rule::RuleRecord& rule) {
  RuleChange result;
  result.kind = kind;
  if (kind != RuleChange::Kind::kAdd) result.before = rule;
  if (kind != RuleChange::Kind::kRemove) result.after = rule;
  return result;
}

inline RuleChange change(RuleChange::Kind kind, std::uint32_t pid, const std::string& internal,
                         const std::string& external, std::uint32_t lifetime_s = 60,
                         Direction direction = Direction::kBidirectional,
                         IpVersion version = IpVersion::kIpv4) {
  rule::RuleRecord rule;
  rule.pid = PolicyRuleId{pid};
  rule.expires_at = std::chrono::steady_clock::now() + std::chrono::seconds(lifetime_s);
  const auto tuple = [version](const std::string& text, Location location) {
    return parse_endpoint(text)->tuple(version, kProtocolUdp, location);
  };
  rule.internal = tuple(internal, Location::kInternal);
  rule.external = tuple(external, Location::kExternal);
  rule.parameters.direction = direction;
  return of(kind, rule);
}
inline constexpr auto kAdd = RuleChange::Kind::kAdd;
inline constexpr auto kReplace = RuleChange::Kind::kReplace;
inline constexpr auto kSetLifetime = RuleChange::Kind::kSetLifetime;
inline constexpr auto kRemove = RuleChange::Kind::kRemove;

/// Options of a backend between the interfaces of BackendFixture.
inline backend::nftables::Options nftables_options() {
  backend::nftables::Options options;
  options.internal_if = "int0";
  options.external_if = "ext0";
  return options;
}

/// A backend as a command line with `words` makes it.
inline std::unique_ptr<backend::Backend> backend_of(const Words& words,
                                                    boost::asio::io_context& io) {
  std::vector<const char*> line{"simco-middlebox"};
  for (const auto& word : words) line.push_back(word.c_str());
  const auto settings = middlebox::parse_settings(static_cast<int>(line.size()), line.data(),
                                                  middlebox::backend_table());
  if (!settings) throw std::invalid_argument(settings.error().text);
  return settings->backend->make(io, *settings);
}

/// A backend on a router of its own.
class BackendFixture : private backend::Backend::Client {
 public:
  using Make = std::function<std::unique_ptr<backend::Backend>(boost::asio::io_context&)>;

  explicit BackendFixture(const Make& make) {
    router.shell(
        "ip link add int0 type veth peer name int1; ip link add ext0 type veth peer name ext1");
    backend = router.run([&] {
      auto made = make(io);
      made->begin({});
      return made;
    });
  }
  explicit BackendFixture(const Words& words)
      : BackendFixture([&](auto& loop) { return backend_of(words, loop); }) {}
  explicit BackendFixture(const backend::nftables::Options& options)
      : BackendFixture([&](auto& loop) {
          return std::make_unique<backend::nftables::NftablesBackend>(loop, options);
        }) {}
  Results apply(const std::vector<RuleChange>& batch) {
    answers = 0;
    backend->apply(batch, *this);
    while (answers == 0) io.run_one();
    EXPECT_EQ(answers, 1);
    return results;
  }
  Results apply(const RuleChange& one) { return apply(std::vector{one}); }
  std::string elements() const {
    return router.output("nft list table inet simco | grep -o 'comment \"pid [0-9]*\"' | sort");
  }

  NetworkNamespace router;
  boost::asio::io_context io;
  std::unique_ptr<backend::Backend> backend;
  int answers = 0;
  Results results;

 private:
  void on_applied(std::span<const ChangeResult> applied) override {
    ++answers;
    results.assign(applied.begin(), applied.end());
  }
};

}  // namespace simco::test
