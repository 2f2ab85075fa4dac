#include "simco/net/listener.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/system/system_error.hpp>
#include <stdexcept>
#include <utility>

#include "simco/net/error.hpp"
#include "simco/net/sctp/kernel.hpp"
#include "simco/net/sctp/userland.hpp"
#include "simco/net/tcp_listener.hpp"

namespace simco::net {
namespace {

using boost::asio::ip::address;

class Opening {
 public:
  Opening(const boost::asio::any_io_executor& executor, const ListenOptions& options,
          ReadBuffer& read_buffer, const Listener::OnAccept& on_accept,
          const Listener::OnError& on_error)
      : executor_(executor),
        options_(options),
        read_buffer_(read_buffer),
        on_accept_(on_accept),
        on_error_(on_error) {
    for (const auto& text : options.addresses) {
      boost::system::error_code error;
      addresses_.push_back(boost::asio::ip::make_address(text, error));
      if (error) throw std::runtime_error("cannot listen on '" + text + "': not an IP address");
    }
  }

  Listening run() {
    for (const auto transport : options_.transports) {
      if (transport == Transport::kTcp) {
        for (const auto& one : addresses_) open_tcp(one);
      } else {
        open_sctp();
      }
    }
    return std::move(result_);
  }

 private:
  template <class Open>
  void open(const char* transport, const address& where, const std::string& how, Open open) {
    try {
      result_.listeners.push_back(open());
    } catch (const boost::system::system_error& failure) {
      throw std::runtime_error("cannot listen on " + std::string(transport) + " " +
                               endpoint_text(where.to_string(), options_.port) + how + ": " +
                               failure.code().message());
    }
  }

  void open_tcp(const address& one) {
    open("tcp", one, "", [&] {
      return std::make_unique<TcpListener>(executor_,
                                           boost::asio::ip::tcp::endpoint(one, options_.port),
                                           read_buffer_, on_accept_, on_error_, options_);
    });
  }

  void open_sctp() {
    const auto& sctp = options_.sctp;
    if (sctp::use_kernel(sctp)) return open_kernel();
    const std::string how = sctp.udp_encaps == 0
                                ? "directly over IP"
                                : "over UDP port " + std::to_string(sctp.udp_encaps);
    result_.notes.push_back(std::string(sctp.stack == SctpStack::kAuto
                                            ? "this kernel has no SCTP support: "
                                            : "sctp: ") +
                            "using the userland stack " + how);
    open("sctp", addresses_.front(), " " + how, [&] {
      return sctp::listen_userland(executor_, addresses_, options_.port, sctp, read_buffer_,
                                   on_accept_, on_error_);
    });
  }

  void open_kernel() {
    note_settings();
    std::vector<address> bound;
    for (const auto& one : addresses_) {
      if (one.is_unspecified()) {
        open_kernel_endpoint({one});
      } else {
        bound.push_back(one);
      }
    }
    if (!bound.empty()) open_kernel_endpoint(bound);
  }

  void open_kernel_endpoint(const std::vector<address>& all) {
    open("sctp", all.front(), "", [&] {
      return sctp::listen_kernel(executor_, all, options_.port, options_.sctp, read_buffer_,
                                 on_accept_, on_error_);
    });
  }

  void note_settings() {
    const auto port = sctp::kernel_udp_port();
    result_.notes.push_back(port == 0 ? "sctp: using the kernel's stack, directly over IP"
                                      : "sctp: using the kernel's stack, directly over IP and over "
                                        "UDP port " +
                                            std::to_string(port));
    if (sctp::kernel_has_sctp() && !sctp::kernel_grants_buffers(options_.sctp)) {
      result_.warnings.push_back(
          "sctp: the kernel granted smaller buffers than requested; busy associations will have to "
          "retransmit. Raise the sysctls net.core.rmem_max and net.core.wmem_max, or start with "
          "CAP_NET_ADMIN");
    }
    if (options_.sctp.kernel_encaps && port != options_.sctp.udp_encaps) {
      const auto wanted = std::to_string(options_.sctp.udp_encaps);
      result_.warnings.push_back(
          "sctp: agents on UDP port " + wanted +
          " cannot reach the kernel's stack: set the sysctl net.sctp.udp_port=" + wanted +
          " and restart");
    }
  }

  boost::asio::any_io_executor executor_;
  const ListenOptions& options_;
  ReadBuffer& read_buffer_;
  const Listener::OnAccept& on_accept_;
  const Listener::OnError& on_error_;
  std::vector<address> addresses_;
  Listening result_;
};

}  // namespace

Listening listen(const boost::asio::any_io_executor& executor, const ListenOptions& options,
                 ReadBuffer& read_buffer, const Listener::OnAccept& on_accept,
                 const Listener::OnError& on_error) {
  return Opening(executor, options, read_buffer, on_accept, on_error).run();
}

}  // namespace simco::net
