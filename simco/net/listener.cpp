#include "simco/net/listener.hpp"

#include <boost/asio/ip/address.hpp>
#include <stdexcept>

#include "simco/net/transport_type.hpp"

namespace simco::net {

Listening listen(const boost::asio::any_io_executor& executor, const ListenOptions& options,
                 ReadBuffer& read_buffer, const Listener::OnAccept& on_accept,
                 const Listener::OnError& on_error) {
  Addresses addresses;
  for (const auto& text : options.addresses) {
    boost::system::error_code error;
    addresses.push_back(boost::asio::ip::make_address(text, error));
    if (error) throw std::runtime_error("cannot listen on '" + text + "': not an IP address");
  }
  const ListenRequest request{executor, options, addresses, read_buffer, on_accept, on_error};
  Listening result;
  for (const auto transport : options.transports) type_of(transport).listen(request, result);
  return result;
}

}  // namespace simco::net
