// Keeps the program linked to both interfaces while it may forward packets between them, and says
// in the log when that begins and ends.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "middlebox/backend/fastpath/fast_path.hpp"
#include "middlebox/backend/fastpath/limits.hpp"
#include "middlebox/backend/fastpath/program.hpp"
#include "simco/wire/instant.hpp"

namespace simco::backend::fastpath {

/// For one thread.
class Links {
 public:
  /// Both must outlive it.
  Links(const Options& options, Program& program) : options_(options), program_(program) {}

  /// Checks the conditions: links the interfaces, or ends the links. To be called every
  /// kWatchInterval. `more`: a further obstacle, as a clause.
  void look(const std::optional<std::string>& more);
  /// Ends the links.
  void end() { program_.unlink(); }

 private:
  const std::string& name_of(Side side) const {
    return side == Side::kInternal ? options_.internal_if : options_.external_if;
  }
  /// Returns the obstacle to linking, or to staying linked, as a clause.
  std::optional<std::string> obstacle();
  /// Links both interfaces, or neither. Returns why not, or why packets would be lost.
  std::optional<std::string> link();
  std::optional<std::string> unable_to_send() const;
  bool is_lost(Side side) const;
  /// Tells the program the hardware address. Returns false if there is no such interface.
  bool introduce(Side side);

  const Options& options_;
  Program& program_;
  bool on_ = false;
  std::optional<std::string> said_;     ///< why it is off, as the log has it
  std::optional<std::string> refused_;  ///< why linking failed
  Side first_ = Side::kInternal;        ///< linked first: the side that refused last
  Instant retry_at_{};                  ///< not before then
  std::chrono::seconds retry_after_ = kRetryFirst;
};

}  // namespace simco::backend::fastpath
