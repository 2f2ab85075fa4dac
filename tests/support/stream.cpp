#include "tests/support/stream.hpp"

namespace simco::test {

Stream::Stream(const Udp& from, const Endpoint& to, const Udp& at)
    : receiver_([this, &at] {
        // A packet can overtake another where the sender changes its processor.
        for (bool ended = false; !ended || received_ < sent_;) {
          const auto packet = at.receive(kPatience);
          if (!packet) return;
          packet->text == "end" ? void(ended = true) : void(++received_);
        }
      }),
      sender_([this, &from, to] {
        // Neighbours that are not known yet lose packets: the first one goes alone.
        const auto send = [&] {
          ++sent_;
          from.send(to, "media");
        };
        send();
        eventually([&] { return ending_ || received_ > 0; });
        while (!ending_) {
          send();
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
