// A kind of backend as users choose it with --backend: its options, their checks, and how it is
// made. The table of kinds is in middlebox/config/backends/.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "middlebox/backend/backend.hpp"

namespace simco::cli {
class Options;
}

namespace simco::middlebox {

struct Settings;

/// A finding of --check: a sentence.
struct Finding {
  bool is_error = false;  ///< the service would not start, or no agent could use it
  std::string text;
};

/// The options of a kind of backend, and the function that makes it.
class BackendType {
 public:
  BackendType() = default;
  BackendType(const BackendType&) = delete;
  BackendType& operator=(const BackendType&) = delete;
  virtual ~BackendType() = default;

  /// Declares the options that only this kind has; the configuration file has them as well.
  virtual void declare(cli::Options&) {}
  /// Returns a complaint about its options, if any. `chosen`: --backend names this kind. Called
  /// once, after parsing and before make().
  virtual std::optional<std::string> check(bool chosen, const Settings& settings) = 0;
  /// Returns obstacles of this host, and options without effect. After check().
  virtual std::vector<Finding> findings() const { return {}; }
  /// Returns the backend, which enforces nothing yet. Throws std::runtime_error with a sentence
  /// that says what to do.
  virtual std::unique_ptr<backend::Backend> make(boost::asio::io_context& io,
                                                 const Settings& settings) const = 0;
};

/// A row of the table of backends.
struct BackendRow {
  std::string_view name;  ///< as --backend has it
  std::unique_ptr<BackendType> (*make)();
  /// Linux capabilities that it needs after the start, by their numbers.
  std::span<const int> capabilities{};
  /// It can stand between the interfaces of --internal-if and --external-if.
  bool has_interfaces = false;
};

/// All kinds; the first is the default.
using BackendTable = std::span<const BackendRow>;

}  // namespace simco::middlebox
