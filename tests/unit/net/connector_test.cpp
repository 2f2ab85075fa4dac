// A peer with several addresses, of which one does not answer.
#include "simco/net/connector.hpp"

#include <gtest/gtest.h>

#include <boost/asio/ip/tcp.hpp>

#include "simco/net/listener.hpp"
#include "tests/support/loop.hpp"

namespace simco::net {
namespace {

using boost::asio::ip::make_address;
using boost::asio::ip::tcp;
using boost::system::error_code;

/// A socket whose queue of connections is full: the kernel drops further SYNs, as a path that has
/// failed does.
class MuteAddress {
 public:
  MuteAddress(boost::asio::io_context& io, const char* address) : acceptor_(io) {
    acceptor_.open(tcp::v4());
    acceptor_.bind({make_address(address), 0});
    acceptor_.listen(0);
    for (auto* filler : {&first_, &second_}) {
      filler->open(tcp::v4());
      filler->async_connect(acceptor_.local_endpoint(), [](const error_code&) {});
    }
  }
  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

 private:
  tcp::acceptor acceptor_;
  tcp::socket first_{acceptor_.get_executor()};
  tcp::socket second_{acceptor_.get_executor()};
};

TEST(Connector, AnAddressThatDoesNotAnswerKeepsNobodyFromTheNext) {
  test::Loop loop;
  const MuteAddress mute(loop.io(), "127.0.0.2");
  tcp::acceptor answers(loop.io(), {make_address("127.0.0.3"), mute.port()});
  HostPort peer("127.0.0.2", mute.port());
  peer.further_hosts = {"127.0.0.3"};
  ReadBuffer read_buffer;
  std::shared_ptr<MessageChannel> connected;
  // Longer than the test waits: the limit of the whole does not end it.
  connect(loop.io().get_executor(), {}, peer, 2 * test::kPatience, read_buffer,
          [&](const error_code& error, std::shared_ptr<MessageChannel> channel) {
            EXPECT_FALSE(error) << error.message();
            connected = std::move(channel);
          });
  ASSERT_TRUE(loop.run_until([&] { return connected != nullptr; }));
  EXPECT_EQ(connected->peer_address(), "127.0.0.3");
  connected->detach();
}

TEST(Connector, TheLastErrorIsThatOfTheAttempt) {
  test::Loop loop;
  // Nobody listens here, as the socket holds the port.
  tcp::acceptor silent(loop.io());
  silent.open(tcp::v4());
  silent.bind({make_address("127.0.0.1"), 0});
  HostPort peer("127.0.0.1", silent.local_endpoint().port());
  peer.further_hosts = {"127.0.0.4"};
  ReadBuffer read_buffer;
  error_code reason;
  connect(loop.io().get_executor(), {}, peer, 2 * test::kPatience, read_buffer,
          [&](const error_code& error, const std::shared_ptr<MessageChannel>&) { reason = error; });
  ASSERT_TRUE(loop.run_until([&] { return bool(reason); }));
  EXPECT_EQ(reason, boost::asio::error::connection_refused);
}

}  // namespace
}  // namespace simco::net
