#include "middlebox/serve/listeners.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "middlebox/limits.hpp"
#include "simco/log/log.hpp"

namespace simco::middlebox {

using boost::system::error_code;

Listeners::Listeners(boost::asio::io_context& io, const ServerOptions& options, Host& host)
    : io_(io),
      host_(host),
      wanted_(options.further_listeners),
      read_buffer_(std::make_unique<net::ReadBuffer>()),
      retry_(io) {
  wanted_.insert(wanted_.begin(), {options.listen, options.require});
}

void Listeners::listen() {
  for (const auto& [options, require] : wanted_) listen(options, require);
}

void Listeners::listen(net::ListenOptions options, Require require) {
  options.on_refused = [this](const std::string& peer, const error_code& why) {
    host_.on_refused(peer, why);
  };
  auto listening = net::listen(
      io_.get_executor(), options, *read_buffer_,
      [this, require](std::shared_ptr<net::MessageChannel> channel) {
        host_.on_connection(std::move(channel), require);
      },
      [](const error_code& why) { log::error("cannot accept connections: {}", why.message()); });
  for (const auto& note : listening.notes) log::info(note);
  for (const auto& warning : listening.warnings) log::warn(warning);
  std::ranges::move(listening.listeners, std::back_inserter(listeners_));
}

void Listeners::listen_when_possible(std::function<void()> done) {
  if (stopped_) return;
  try {
    listen();
  } catch (const std::runtime_error& failure) {
    if (!std::exchange(warned_, true)) {
      log::warn("cannot serve agents yet; trying again: {}", failure.what());
    }
    listeners_.clear();
    retry_.expires_after(kListenRetry);
    return retry_.async_wait([this, done = std::move(done)](const error_code& error) mutable {
      if (!error) listen_when_possible(std::move(done));
    });
  }
  log_addresses();
  done();
}

void Listeners::log_addresses() const {
  for (const auto& listener : listeners_) {
    for (const auto& endpoint : listener->endpoints()) {
      log::info("listening on {} {}", net::to_string(listener->transport()), endpoint);
    }
  }
}

std::vector<std::uint16_t> Listeners::ports() const {
  std::vector<std::uint16_t> result;
  for (const auto& listener : listeners_) result.push_back(listener->port());
  return result;
}

void Listeners::set_tls(const std::shared_ptr<const net::TlsContext>& tls) {
  for (auto& wanted : wanted_) wanted.listen.tls = tls;
  for (const auto& listener : listeners_) listener->set_tls(tls);
}

void Listeners::stop() {
  stopped_ = true;
  retry_.cancel();
  for (const auto& listener : listeners_) listener->stop();
}

}  // namespace simco::middlebox
