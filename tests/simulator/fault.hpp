#pragma once

#include <stdexcept>
#include <string>

namespace simco::simulator {

/// The middlebox has violated a rule; what() names it.
class Fault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline void demand(bool holds, const std::string& otherwise) {
  if (!holds) throw Fault(otherwise);
}

}  // namespace simco::simulator
