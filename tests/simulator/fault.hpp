#pragma once

#include <stdexcept>

namespace simco::simulator {

/// The middlebox has done what it must not; what() says what.
class Fault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace simco::simulator
