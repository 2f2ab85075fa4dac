// A backend around another: everything passes through, and rules are put into the table and taken
// out on the way.
#include "middlebox/backend/fastpath/fast_path.hpp"

#include <net/if.h>

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "middlebox/backend/fastpath/premises.hpp"
#include "middlebox/backend/fastpath/program.hpp"
#include "middlebox/backend/fastpath/rule_table.hpp"
#include "simco/log/log.hpp"

namespace simco::backend::fastpath {
namespace {

Side other(Side side) { return side == Side::kInternal ? Side::kExternal : Side::kInternal; }

/// Keeps the program linked to both interfaces while it may forward packets between them, and says
/// in the log when that begins and ends. Options and program must outlive it.
class Links {
 public:
  Links(const Options& options, Program& program) : options_(options), program_(program) {}

  /// Checks the conditions: links the interfaces, or ends the links. To be called every
  /// kWatchInterval. `more`: a further obstacle, as a clause.
  void look(const std::optional<std::string>& more) {
    for (const Side side : kSides) {
      if (!on_ || !is_lost(side)) continue;
      log::warn("fast path: interface {} is gone or replaced, and its link with it", name_of(side));
      program_.unlink();
      on_ = false;
    }
    const auto why = more ? more : obstacle();
    if (why) {
      program_.unlink();
      if (said_ != why) log::warn("fast path: off, nftables handles all packets: {}", *why);
    } else if (!on_) {
      program_.open();
      log::info("fast path: on, between {} and {}", options_.internal_if, options_.external_if);
    }
    on_ = !why;
    said_ = why;
  }

  /// Ends the links.
  void end() { program_.unlink(); }

 private:
  const std::string& name_of(Side side) const {
    return side == Side::kInternal ? options_.internal_if : options_.external_if;
  }

  bool is_lost(Side side) const {
    const auto index = ::if_nametoindex(name_of(side).c_str());
    return index == 0 || program_.linked(side) != index;
  }

  /// Tells the program the hardware address. Returns false if there is no such interface.
  bool introduce(Side side) {
    const auto address = hardware_address(name_of(side));
    if (!address) return false;
    program_.set_address(side, *address);
    return true;
  }

  /// Returns the obstacle to linking, or to staying linked, as a clause.
  std::optional<std::string> obstacle() {
    for (const Side side : kSides) {
      if (!introduce(side)) return "there is no Ethernet interface " + name_of(side);
    }
    if (auto premise = unmet_premise(options_.internal_if, options_.external_if)) return premise;
    if (on_) return unable_to_send();
    const Instant now = options_.now();
    if (now < retry_at_) return refused_;
    refused_ = link();
    retry_at_ = refused_ ? now + retry_after_ : Instant{};
    if (refused_)
      log::debug("fast path: refused, again in {} s: {}", retry_after_.count(), *refused_);
    retry_after_ = refused_ ? std::min(2 * retry_after_, kRetryMax) : kRetryFirst;
    return refused_;
  }

  /// Links both interfaces, or neither. Returns why not, or why packets would be lost.
  std::optional<std::string> link() {
    // Linking may interrupt a network card, which must not happen repeatedly because of the other
    // card.
    for (const Side side : {first_, other(first_)}) {
      if (const auto refused = program_.link(side, ::if_nametoindex(name_of(side).c_str()))) {
        first_ = side;
        return name_of(side) + ": " + *refused;
      }
      log::debug("fast path: {} linked", name_of(side));
    }
    return unable_to_send();  // some drivers are able to only with a program there
  }

  std::optional<std::string> unable_to_send() const {
    for (const Side side : kSides) {
      if (auto reason = cannot_send(name_of(side))) return reason;
    }
    return std::nullopt;
  }

  const Options& options_;
  Program& program_;
  bool on_ = false;
  std::optional<std::string> said_;     ///< why it is off, as the log has it
  std::optional<std::string> refused_;  ///< why linking failed
  Side first_ = Side::kInternal;        ///< linked first: the side that refused last
  Instant retry_at_{};                  ///< not before then
  std::chrono::seconds retry_after_ = kRetryFirst;
};

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
  bool enforces() override { return inner_->enforces(); }
  void lease(Instant until) override {
    program_->set_lease(until);
    inner_->lease(until);
  }

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
