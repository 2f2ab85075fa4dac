// Reads which elements the kernel has in our sets, set by set, between other work of the loop.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <vector>

#include "middlebox/backend/nftables/elements/drift.hpp"
#include "middlebox/backend/nftables/flows/dump.hpp"
#include "middlebox/backend/nftables/options.hpp"
#include "middlebox/backend/nftables/table/set_name.hpp"

namespace simco::backend::nftables {

class Inspection {
 public:
  /// Called with the contents of a set.
  using Report = std::function<void(const Mask& mask, SetKeys keys)>;

  Inspection(boost::asio::io_context& io, const Options& options) : options_(options), dump_(io) {}

  bool busy() const { return busy_; }
  /// Reads the sets of `masks`, reports on each and calls `done`. A set that cannot be read is not
  /// reported.
  void start(std::vector<Mask> masks, Report report, std::function<void()> done);

 private:
  void next();
  void read(const nlmsghdr* message);

  const Options& options_;
  Dump dump_;
  bool busy_ = false;
  std::vector<Mask> left_;
  SetKeys keys_;
  Report report_;
  std::function<void()> done_;
};

}  // namespace simco::backend::nftables
