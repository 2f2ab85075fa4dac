// Chooses the stack, then listens or connects with it, and tells the operator about it.
#include "simco/net/transports.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "simco/library/optional.hpp"
#include "simco/net/sctp/channel.hpp"
#include "simco/net/sctp/kernel.hpp"
#include "simco/net/sctp/userland_socket.hpp"

namespace simco::net::sctp {
namespace {

using boost::asio::ip::address;
using boost::system::error_code;

class SctpDialer final : public Dialer {
 public:
  explicit SctpDialer(DialRequest request)
      : request_(std::move(request)), kernel_(use_kernel(request_.options.settings.sctp)) {}

  std::vector<Addresses> candidates(const std::vector<Addresses>& hosts) override {
    if (!kernel_ || hosts.size() == 1) return Dialer::candidates(hosts);
    Addresses all;
    for (const auto& host : hosts) all.push_back(host.front());
    return {all};
  }

 private:
  void start(const Addresses& candidate) override {
    const auto& options = request_.options.settings.sctp;
    auto socket =
        kernel_
            ? connect_kernel(request_.executor, candidate, request_.port, request_.local, options)
            : connect_userland(request_.executor, candidate.front(), request_.port, options);
    if (!socket) return finish(Result::kFailed, socket.error());
    association_ = std::move(*socket);
    wait();
  }
  void stop() override {
    // Not from under its own feet: this may be its call.
    if (association_) boost::asio::post(request_.executor, [old = std::move(association_)] {});
  }

  void wait() {
    association_->wait_readable([this, self = shared_from_this()] {
      if (!cancelled()) look();
    });
  }

  void look() {
    const auto input = association_->receive(request_.read_buffer);
    switch (input.kind) {
      case Input::Kind::kNothing: return wait();
      case Input::Kind::kConnected:
        return finish(Result::kConnected, {},
                      std::make_shared<Channel>(std::move(association_), request_.read_buffer,
                                                request_.options.settings.sctp));
      case Input::Kind::kError: return finish(Result::kFailed, input.error);
      default: return finish(Result::kFailed, boost::asio::error::connection_aborted);
    }
  }

  DialRequest request_;
  bool kernel_;
  std::unique_ptr<Socket> association_;
};

void note_settings(const SctpOptions& options, Listening& result) {
  const auto port = kernel_udp_port();
  result.notes.push_back(port == 0 ? "sctp: using the kernel's stack, directly over IP"
                                   : "sctp: using the kernel's stack, directly over IP and over "
                                     "UDP port " +
                                         std::to_string(port));
  if (kernel_has_sctp() && !kernel_grants_buffers(options)) {
    result.warnings.push_back(
        "sctp: the kernel granted smaller buffers than requested; busy associations will have to "
        "retransmit. Raise the sysctls net.core.rmem_max and net.core.wmem_max, or start with "
        "CAP_NET_ADMIN");
  }
  if (options.kernel_encaps && port != options.udp_encaps) {
    const auto wanted = std::to_string(options.udp_encaps);
    result.warnings.push_back("sctp: agents on UDP port " + wanted +
                              " cannot reach the kernel's stack: set the sysctl "
                              "net.sctp.udp_port=" +
                              wanted + " and restart");
  }
}

void open_kernel(const ListenRequest& request, Listening& result) {
  note_settings(request.options.settings.sctp, result);
  const auto open = [&](const Addresses& all) {
    result.listeners.push_back(request.open(Transport::kSctp, all.front(), "", [&] {
      return listen_kernel(request.executor, all, request.options.port,
                           request.options.settings.sctp, request.read_buffer, request.on_accept,
                           request.on_error);
    }));
  };
  Addresses bound;
  for (const auto& one : request.addresses) {
    if (one.is_unspecified()) {
      open({one});
    } else {
      bound.push_back(one);
    }
  }
  if (!bound.empty()) open(bound);
}

void open_userland(const ListenRequest& request, Listening& result) {
  const auto& sctp = request.options.settings.sctp;
  const std::string how = sctp.udp_encaps == 0 ? "directly over IP"
                                               : "over UDP port " + std::to_string(sctp.udp_encaps);
  result.notes.push_back(
      std::string(sctp.stack == SctpStack::kAuto ? "this kernel has no SCTP support: " : "sctp: ") +
      "using the userland stack " + how);
  result.listeners.push_back(
      request.open(Transport::kSctp, request.addresses.front(), " " + how, [&] {
        return listen_userland(request.executor, request.addresses, request.options.port, sctp,
                               request.read_buffer, request.on_accept, request.on_error);
      }));
}

}  // namespace

void listen(const ListenRequest& request, Listening& result) {
  use_kernel(request.options.settings.sctp) ? open_kernel(request, result)
                                            : open_userland(request, result);
}

std::shared_ptr<Dialer> make_dialer(DialRequest request) {
  return std::make_shared<SctpDialer>(std::move(request));
}

std::optional<std::string> fault_in_use(const TransportSettings& settings, const TlsContext*) {
  if (use_kernel(settings.sctp)) return std::nullopt;
  const char* fault = library::fault_in(simco_load_usrsctp);
  if (fault == nullptr) return std::nullopt;
  return std::string(settings.sctp.stack == SctpStack::kAuto
                         ? "this kernel has no SCTP support (modprobe sctp), and the userland "
                           "stack cannot be used: "
                         : "") +
         fault;
}

const char* stack(const TransportOptions& options) {
  return use_kernel(options.settings.sctp) ? "kernel" : "userland";
}

}  // namespace simco::net::sctp
