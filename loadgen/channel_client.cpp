#include "loadgen/channel_client.hpp"

#include <boost/asio/post.hpp>
#include <boost/system/errc.hpp>
#include <utility>

#include "simco/net/connector.hpp"
#include "simco/net/limits.hpp"

namespace simco::loadgen {

using boost::system::error_code;

ChannelClient::ChannelClient(const boost::asio::any_io_executor& executor,
                             net::ReadBuffer& read_buffer, const ConnectionOptions& options,
                             Client::Observer& observer, const net::Framer& framer)
    : executor_(executor),
      read_buffer_(read_buffer),
      options_(options),
      observer_(observer),
      framer_(framer),
      alive_(std::make_shared<ChannelClient*>(this)) {}

ChannelClient::~ChannelClient() {
  *alive_ = nullptr;
  if (channel_) channel_->detach();
}

void ChannelClient::open() {
  net::connect(executor_, options_.transport, options_.target, options_.timeout, read_buffer_,
               [alive = alive_](const error_code& error, auto channel) {
                 if (*alive == nullptr) return;
                 ChannelClient& self = **alive;
                 if (error) return self.down(error);
                 self.channel_ = std::move(channel);
                 self.channel_->start(self, {self.framer_});
                 self.observer_.on_ready(self);
               });
}

void ChannelClient::flush() {
  if (channel_) channel_->flush();
}

bool ChannelClient::full() const { return queued() > net::kOutputHighWater; }

void ChannelClient::finish() {
  finishing_ = true;
  boost::asio::post(executor_, [alive = alive_] {
    if (*alive == nullptr) return;
    ChannelClient& self = **alive;
    if (!self.up()) return self.down({});
    self.channel_->close();  // accepted messages still arrive; on_closed() follows
  });
}

net::Flow ChannelClient::refuse() {
  down(make_error_code(boost::system::errc::protocol_error));
  return net::Flow::kStop;
}

void ChannelClient::on_malformed(net::FramingError) { refuse(); }

void ChannelClient::on_input_done(std::optional<std::chrono::nanoseconds>) {
  if (!down_) observer_.on_turn(*this);
}

void ChannelClient::on_output_drained() {
  if (!down_) observer_.on_turn(*this);
}

void ChannelClient::on_closed(const error_code& reason) {
  down(reason ? reason : make_error_code(boost::system::errc::connection_reset));
}

void ChannelClient::down(const error_code& reason) {
  if (std::exchange(down_, true)) return;
  if (channel_) channel_->close();
  observer_.on_down(*this, finishing_ ? error_code{} : reason);
}

}  // namespace simco::loadgen
