// A store in memory that takes its time, fails, and survives crashes of the middlebox.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "middlebox/commit/journal.hpp"
#include "tests/simulator/random.hpp"
#include "tests/support/virtual_time.hpp"

namespace simco::simulator {

class SimStore final : public middlebox::Journal::Writer {
 public:
  /// Both must outlive this.
  SimStore(test::VirtualTime& time, Random& random) : time_(time), random_(random) {}

  /// Keeps the batch a while later. Some writes fail, several in a row; of one that fails because
  /// the connection to the store was lost, all is kept or nothing.
  void write(store::Batch batch, Done done) override;
  /// The middlebox is gone: of the write under way all is kept or nothing.
  void crash();
  store::Contents contents() const;

  /// From now on nothing fails.
  void heal() { reliable_ = true, fails_ = 0; }
  /// Writes that have begun so far, and the last of them that has succeeded.
  std::uint64_t begun() const { return begun_; }
  std::uint64_t last_success() const { return last_success_; }
  /// The last write has failed.
  bool failing() const { return failing_; }
  /// A write has failed at that time or later.
  bool failed_since(Instant time) const { return last_failure_ && *last_failure_ >= time; }

 private:
  void keep(const store::Batch& batch);
  bool fails();

  test::VirtualTime& time_;
  Random& random_;
  std::map<std::uint32_t, std::string> entries_;
  store::Counters counters_;
  std::optional<store::Batch> under_way_;
  std::uint64_t begun_ = 0;
  std::uint64_t last_success_ = 0;
  std::uint32_t fails_ = 0;  ///< so many more writes
  bool failing_ = false;
  std::optional<Instant> last_failure_;
  bool reliable_ = false;
};

}  // namespace simco::simulator
