#include "tests/support/cable.hpp"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <stdexcept>
#include <vector>

namespace simco::test {
namespace {

constexpr std::size_t kFrameMax = 65'536;

int open_card(const Cable::Card& card) {
  return card.host.run([&] {
    const int descriptor = ::open("/dev/net/tun", O_RDWR | O_CLOEXEC);
    ifreq request{};
    card.name.copy(request.ifr_name, IFNAMSIZ - 1);
    request.ifr_flags = IFF_TAP | IFF_NO_PI;
    if (::ioctl(descriptor, TUNSETIFF, &request) != 0)
      throw std::runtime_error("no TAP device " + card.name);
    return descriptor;
  });
}

}  // namespace

Cable::Cable(const Card& one, const Card& other)
    : cards_{open_card(one), open_card(other)},
      stop_(::eventfd(0, EFD_CLOEXEC)),
      thread_([this] { carry(); }) {}

Cable::~Cable() {
  ::eventfd_write(stop_, 1);
  thread_.join();
  for (const int each : {cards_[0], cards_[1], stop_}) ::close(each);
}

void Cable::carry() const {
  std::vector<char> frame(kFrameMax);
  for (;;) {
    std::array<pollfd, 3> ready{
        {{stop_, POLLIN, 0}, {cards_[0], POLLIN, 0}, {cards_[1], POLLIN, 0}}};
    if (::poll(ready.data(), ready.size(), -1) < 0) continue;
    if (ready[0].revents != 0) return;
    for (const std::size_t from : {0U, 1U}) {
      if (ready[from + 1].revents == 0) continue;
      const auto size = ::read(cards_[from], frame.data(), frame.size());
      if (size < 0) return;  // somebody has deleted the card
      // A card that is down takes nothing.
      [[maybe_unused]] const auto sent =
          ::write(cards_[1 - from], frame.data(), static_cast<std::size_t>(size));
    }
  }
}

}  // namespace simco::test
