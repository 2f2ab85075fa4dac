// A backend around another: everything passes through, and rules are put into the table and taken
// out on the way.
#include "middlebox/backend/fastpath/fast_path.hpp"

#include <boost/asio/steady_timer.hpp>
#include <stdexcept>
#include <utility>

#include "middlebox/backend/fastpath/figures.hpp"
#include "middlebox/backend/fastpath/links.hpp"
#include "middlebox/backend/fastpath/own_addresses.hpp"
#include "middlebox/backend/fastpath/premises.hpp"
#include "middlebox/backend/fastpath/program.hpp"
#include "middlebox/backend/fastpath/rule_table.hpp"
#include "simco/log/log.hpp"

namespace simco::backend::fastpath {
namespace {

class AcceleratedBackend final : public Backend, private Backend::Client {
 public:
  AcceleratedBackend(boost::asio::io_context& io, std::unique_ptr<Backend> inner,
                     std::unique_ptr<Program> program, const Options& options)
      : inner_(std::move(inner)),
        options_(options),
        program_(std::move(program)),
        table_({program_->slots4(), program_->seed(), program_->tallies4()},
               {program_->slots6(), program_->seed(), program_->tallies6()}),
        links_(options_, *program_),
        timer_(io) {}

  std::string_view name() const override { return inner_->name(); }
  Capabilities capabilities() const override { return inner_->capabilities(); }
  bool alive() override { return inner_->alive(); }
  Figures figures() override {
    auto result = inner_->figures();
    add_figures(program_->counts(), result);
    return result;
  }
  bool counts() const override { return inner_->counts(); }
  std::vector<std::optional<rule::RuleTraffic>> traffic(
      std::span<const rule::RuleRecord> rules) override {
    auto result = inner_->traffic(rules);
    const Instant now = options_.now();
    for (std::size_t i = 0; i < rules.size(); ++i) {
      if (result[i]) table_.add_traffic(rules[i], now, *result[i]);
    }
    return result;
  }
  void clear() override { inner_->clear(); }

  std::vector<ChangeResult> begin(std::span<const RuleChange> rules) override {
    auto results = inner_->begin(rules);
    look_at_addresses();
    put(rules, results);
    watch();
    return results;
  }

  void apply(std::span<const RuleChange> batch, Backend::Client& client) override {
    const Instant now = options_.now();
    for (const auto& change : batch) {
      if (change.kind == RuleChange::Kind::kRemove)
        table_.take_out(change.before, now);
      else if (counts())
        table_.leave_shared(change.after, now);
    }
    batch_ = batch;
    client_ = &client;
    inner_->apply(batch, *this);
  }

  void end() override {
    timer_.cancel();
    links_.end();
    inner_->end();
  }

 private:
  void on_applied(std::span<const ChangeResult> results) override {
    put(batch_, results);
    client_->on_applied(results);
  }

  /// After the backend's commit: puts the rules in force, those whose removal failed included.
  void put(std::span<const RuleChange> changes, std::span<const ChangeResult> results) {
    const Instant now = options_.now();
    for (std::size_t i = 0; i < changes.size(); ++i) {
      const bool done = results[i] == ChangeResult::kDone;
      if (done == (changes[i].kind == RuleChange::Kind::kRemove)) continue;
      if (counts()) table_.leave_shared(changes[i].rule(), now);
      table_.put(changes[i].rule(), now);
    }
  }

  /// Returns a complaint, if any, as a clause.
  std::optional<std::string> look_at_addresses() {
    auto own = read_own_addresses();
    if (!own) return "the kernel does not tell the addresses of this host";
    table_.set_own(std::move(*own));
    return std::nullopt;
  }

  void watch() {
    links_.look(look_at_addresses());
    timer_.expires_after(kWatchInterval);
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (!error) watch();
    });
  }

  std::unique_ptr<Backend> inner_;
  Options options_;
  std::unique_ptr<Program> program_;
  RuleTable table_;
  Links links_;
  boost::asio::steady_timer timer_;
  std::span<const RuleChange> batch_;  ///< that is under way
  Backend::Client* client_ = nullptr;
};

}  // namespace

bool is_built_in() { return true; }

std::optional<std::string> obstacle(const std::string& internal_if,
                                    const std::string& external_if) {
  return unmet_premise(internal_if, external_if);
}

std::unique_ptr<Backend> accelerate(boost::asio::io_context& io, std::unique_ptr<Backend> inner,
                                    const Options& options) {
  std::unique_ptr<Program> program;
  try {
    program = std::make_unique<Program>(options.entries, inner->counts());
  } catch (const std::runtime_error& failure) {
    log::warn("fast path: none, nftables handles all packets: {}", failure.what());
    return inner;
  }
  return std::make_unique<AcceleratedBackend>(io, std::move(inner), std::move(program), options);
}

}  // namespace simco::backend::fastpath
