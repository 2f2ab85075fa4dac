#pragma once

#include <stdexcept>
#include <string>

namespace simco::simulator {

/// The middlebox has done what it must not; what() says what.
class Fault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline void demand(bool holds, const std::string& otherwise) {
  if (!holds) throw Fault(otherwise);
}

}  // namespace simco::simulator
