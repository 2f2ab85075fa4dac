// A cable between two network cards of drivers with native XDP, which send no packet of the
// kernel's stack as it lies in memory: TAP devices, and a thread that carries frames from one to
// the other.
#pragma once

#include <array>
#include <string>
#include <thread>

#include "tests/support/network.hpp"

namespace simco::test {

class Cable {
 public:
  struct Card {
    const NetworkNamespace& host;
    std::string name;
  };
  /// Makes both cards, which go with this object. Throws std::runtime_error if it cannot.
  Cable(const Card& one, const Card& other);
  ~Cable();
  Cable(const Cable&) = delete;
  Cable& operator=(const Cable&) = delete;

 private:
  void carry() const;

  std::array<int, 2> cards_{-1, -1};
  int stop_ = -1;
  std::thread thread_;
};

}  // namespace simco::test
