// simco-ng when its middlebox dies without a word, as a machine does that loses its power: another
// one takes the address over, and knows nothing of the session.
#include <gtest/gtest.h>

#include "tests/integration/router/ng_router.hpp"

namespace simco::test {
namespace {

using nlohmann::json;

const std::string kService = "192.0.2.1";
constexpr std::uint16_t kPort = 7626;

const Words kBoxWords = {"simco-middlebox", "--listen", kService,
                         "--port",          "7626",     "--allow-anonymous"};
const Words kListWords = {"simcoctl", "--connect", kService, "list"};

/// A host with simco-ng, and two boxes that can have the address of the middlebox.
class NgTakeover : public testing::Test {
 protected:
  NgTakeover() {
    host_.shell("ip link add lan type bridge; ip address add 192.0.2.10/24 dev lan");
    host_.shell("ip link set lan up");
    for (int i = 0; i < 2; ++i) wire(i);
    give_address(0);
    ng_ = std::make_unique<NgBox>(host_, Endpoint{kService, kPort}, Words{"--lifetime", "3600"});
  }

  void take_over() {
    // A delayed acknowledgement would meet the second box at once.
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    host_.shell("ip link set port0 down");
    give_address(1);
    host_.shell("ip neighbour flush dev lan");
  }
  NgBox& ng() { return *ng_; }
  json offer(const std::string& call) {
    return ng().offer("a", sdp("10.0.0.5", 6000), {{"call-id", call}});
  }
  json answer(const std::string& call) {
    return ng().answer("a", "b", sdp("198.51.100.7", 7000), {{"call-id", call}});
  }
  /// The rules of the middlebox that has the address.
  std::string rules() {
    return host_.run([] { return run(kListWords).out; });
  }

 private:
  void wire(int i) {
    const auto port = "port" + std::to_string(i);
    host_.shell("ip link add " + port + " type veth peer name eth0 netns " + boxes_[i].path());
    host_.shell("ip link set " + port + " master lan up");
    boxes_[i].shell("ip link set eth0 up");
  }
  void give_address(int i) {
    boxes_[i].shell("ip address add " + kService + "/24 dev eth0");
    programs_[i] = start(boxes_[i], kBoxWords);
    ASSERT_EQ(programs_[i]->listening_port(), kPort);
  }

  NetworkNamespace host_;
  NetworkNamespace boxes_[2];
  std::unique_ptr<Program> programs_[2];
  std::unique_ptr<NgBox> ng_;
};

// A slow machine may exceed the patience of a proxy, which is another error than the loss.
TEST_F(NgTakeover, TheFirstCallAfterItGetsItsRules) {
  ASSERT_EQ(offer("before").at("result"), "ok");
  take_over();
  for (const auto& reply : {offer("call"), answer("call")}) {
    EXPECT_FALSE(reply.dump().contains("lost the connection")) << reply;
  }
  // A call that was too slow is made again.
  EXPECT_TRUE(eventually(
      [&] { return offer("again").at("result") == "ok" && answer("again").at("result") == "ok"; }));
  EXPECT_TRUE(rules().contains("10.0.0.5:6000/2"));
}

// Nobody asks for anything: the loss is noticed all the same.
TEST_F(NgTakeover, CallsGetTheirRulesFromABoxThatHasNone) {
  ASSERT_EQ(offer("call").at("result"), "ok");
  ASSERT_EQ(answer("call").at("result"), "ok");
  take_over();
  EXPECT_TRUE(eventually([&] { return rules().contains("10.0.0.5:6000/2"); }));
}

}  // namespace
}  // namespace simco::test
