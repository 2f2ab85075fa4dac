// Reads which elements the kernel has in our sets, set by set, between other work of the loop.
#pragma once

#include <absl/container/flat_hash_set.h>

#include <boost/asio/io_context.hpp>
#include <functional>
#include <string>
#include <vector>

#include "middlebox/backend/nftables/dump.hpp"
#include "middlebox/backend/nftables/ruleset.hpp"

namespace simco::backend::nftables {

class Inspection {
 public:
  /// Octets of an element's key, followed by those of its end in an interval set.
  using Keys = absl::flat_hash_set<std::string>;
  /// Called with what a set has.
  using Report = std::function<void(const Shape& shape, const Keys& keys)>;

  Inspection(boost::asio::io_context& io, const Options& options) : options_(options), dump_(io) {}

  bool busy() const { return busy_; }
  /// Reads the sets of `shapes`, reports on each and calls `done`. A set that cannot be read is not
  /// reported.
  void start(std::vector<Shape> shapes, Report report, std::function<void()> done);

 private:
  void next();
  void read(const nlmsghdr* message);

  const Options& options_;
  Dump dump_;
  bool busy_ = false;
  std::vector<Shape> left_;
  Keys keys_;
  Report report_;
  std::function<void()> done_;
};

}  // namespace simco::backend::nftables
