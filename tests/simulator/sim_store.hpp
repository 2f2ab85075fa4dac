// A store in memory that takes its time, fails, survives crashes of the middlebox, and belongs to
// the middlebox that has opened it last.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "middlebox/commit/journal.hpp"
#include "tests/simulator/random.hpp"
#include "tests/support/virtual_time.hpp"

namespace simco::simulator {

class SimStore {
 public:
  /// Both must outlive this.
  SimStore(test::VirtualTime& time, Random& random) : time_(time), random_(random) {}

  /// A middlebox's access to the store; gone with the middlebox.
  class Access final : public middlebox::Journal::Writer {
   public:
    explicit Access(SimStore& store) : store_(store) {}
    /// From now on the store belongs to this middlebox. Of the write under way all is kept or
    /// nothing.
    void claim();
    /// Keeps the batch a while later. Some writes fail, several in a row; of one that fails because
    /// the connection to the store was lost, all is kept or nothing. All fail once another
    /// middlebox has opened the store.
    void write(store::Batch batch, Done done) override;

   private:
    SimStore& store_;
    std::uint32_t owner_ = 0;  ///< 0: never
    std::shared_ptr<int> alive_ = std::make_shared<int>();
  };

  /// Whoever follows the store hears of each batch that it keeps.
  void follow(std::function<void(const store::Batch&)> kept) { follower_ = std::move(kept); }
  store::Contents contents() const;
  std::set<std::uint32_t> pids() const;

  /// From now on nothing fails.
  void heal() { reliable_ = true, fails_ = 0; }
  /// Writes that have begun so far, and the last of them that has succeeded; of the owner only.
  std::uint64_t begun() const { return begun_; }
  std::uint64_t last_success() const { return last_success_; }
  /// The last write has failed.
  bool failing() const { return failing_; }
  /// A write has failed at that time or later.
  bool failed_since(Instant time) const { return last_failure_ && *last_failure_ >= time; }

 private:
  struct Writing {
    store::Batch batch;
    std::uint64_t number;
    std::optional<bool> kept = {};  ///< once that is decided
  };

  middlebox::Journal::Failure finish(Writing& writing, bool owned);
  void keep(const store::Batch& batch);
  bool fails();

  test::VirtualTime& time_;
  Random& random_;
  std::function<void(const store::Batch&)> follower_;
  std::map<std::uint32_t, std::string> entries_;
  store::Counters counters_;
  std::uint32_t owner_ = 0;
  std::shared_ptr<Writing> under_way_;
  std::uint64_t begun_ = 0;
  std::uint64_t last_success_ = 0;
  std::uint32_t fails_ = 0;  ///< so many more writes
  bool failing_ = false;
  std::optional<Instant> last_failure_;
  bool reliable_ = false;
};

}  // namespace simco::simulator
