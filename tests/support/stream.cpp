#include "tests/support/stream.hpp"

namespace simco::test {

Stream::Stream(const Udp& from, const Endpoint& to, const Udp& at)
    : receiver_([this, &at] {
        for (;;) {
          const auto packet = at.receive(kPatience);
          if (!packet || packet->text == "end") return;
          ++received_;
        }
      }),
      sender_([this, &from, to] {
        while (!ending_) {
          from.send(to, "media");
          ++sent_;
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        from.send(to, "end");
      }) {}

void Stream::finish() {
  ending_ = true;
  if (sender_.joinable()) sender_.join();
  if (receiver_.joinable()) receiver_.join();
}

}  // namespace simco::test
