// Rules that outlive the middlebox: a backend that keeps each change in a store before another
// backend carries it out.
//
// The order is store, kernel, reply. What is killed in between was never acknowledged; the next
// start makes the kernel enforce exactly what the store has. A change that the kernel refuses is
// taken back in the store before it is answered. Where the store fails, nothing new is granted, but
// rules still end: a pinhole must not stay open for want of disk. What the store then does not know
// is owed to it and tried again.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "middlebox/backend/backend.hpp"
#include "middlebox/policy/engine.hpp"
#include "middlebox/store_thread.hpp"

namespace simco::middlebox {

class Metrics;

class DurableBackend final : public backend::Backend, private backend::Backend::Client {
 public:
  /// `engine` is the one whose changes come here. All must outlive it.
  DurableBackend(boost::asio::io_context& io, backend::Backend& inner, store::Store& store,
                 policy::PolicyEngine& engine, Metrics* metrics = nullptr);
  /// Tries once more to give the store what is owed to it.
  ~DurableBackend() override;

  /// What became of the rules of an earlier life.
  struct Restored {
    std::size_t live = 0;
    std::size_t expired = 0;
    std::size_t lost = 0;  ///< that could not be had again; each is logged
  };
  /// Opens the store, gives its rules to the engine, and begins to enforce them. Throws StoreError
  /// or std::runtime_error with a sentence. To be called once, before apply().
  Restored restore();
  /// Calls `taken` from the loop, once, when another middlebox has claimed the store. Nothing more
  /// is carried out then, not even that a rule ends: its new owner would not know.
  void on_taken(std::function<void()> taken) { taken_ = std::move(taken); }

  // The inner backend's
  std::string_view name() const override { return inner_.name(); }
  Capabilities capabilities() const override { return inner_.capabilities(); }
  bool alive() override { return inner_.alive(); }
  std::vector<backend::ChangeResult> begin(std::span<const backend::RuleChange> rules) override {
    return inner_.begin(rules);
  }
  void apply(std::span<const backend::RuleChange> batch, backend::Backend::Client& client) override;

 private:
  using Failure = std::optional<store::StoreFailure>;

  /// The rule as it will be after `change`.
  store::Entry after(const backend::RuleChange& change) const;
  /// The rule as it is without `change`, which is under way.
  store::Entry without(const backend::RuleChange& change) const;
  /// What is owed and `entries`, to the store.
  void keep(std::vector<store::Entry> entries, StoreThread::Done done);
  /// Begins with the batch.
  void start();
  void on_kept(const Failure& failure);
  void on_applied(std::span<const backend::ChangeResult> results) override;
  void answer();
  void owe(std::vector<store::Entry> entries);
  void retry_later();
  /// Says so when the store begins to fail, and when it is well again.
  void note(const Failure& failure);
  void answer_no_resources();

  boost::asio::io_context& io_;
  backend::Backend& inner_;
  store::Store& store_;
  policy::PolicyEngine& engine_;
  Metrics* metrics_;
  std::optional<StoreThread> thread_;
  boost::asio::steady_timer retry_;
  std::map<PolicyRuleId, std::string> owed_;  ///< what the store should know by now
  std::function<void()> taken_;
  bool failing_ = false;
  bool retry_armed_ = false;
  bool retry_under_way_ = false;

  // The batch under way
  std::span<const backend::RuleChange> batch_;
  backend::Backend::Client* client_ = nullptr;
  std::vector<backend::RuleChange> passed_;  ///< on to the inner backend
  std::vector<std::size_t> passed_at_;       ///< where they are in the batch
  std::vector<backend::ChangeResult> results_;
};

}  // namespace simco::middlebox
