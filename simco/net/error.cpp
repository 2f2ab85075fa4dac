#include "simco/net/error.hpp"

#include <string>

#include "simco/library/optional.hpp"

namespace simco::net {
namespace {

class NetCategory final : public boost::system::error_category {
 public:
  const char* name() const noexcept override { return "simco.net"; }
  std::string message(int value) const override {
    return std::string(to_string(static_cast<NetError>(value)));
  }
};

}  // namespace

std::string_view to_string(NetError error) {
  switch (error) {
    case NetError::kNoKernelSctp:
      return "this kernel has no SCTP support: load the module (modprobe sctp) or use the userland "
             "stack "
             "(--sctp-stack userland)";
    case NetError::kNoKernelEncaps:
      return "UDP encapsulation is off in the kernel's SCTP: set the sysctl net.sctp.udp_port";
    case NetError::kOtherEventLoop:
      return "another event loop of this process already uses the userland SCTP stack: run all "
             "associations on that loop, or use --sctp-stack kernel";
    case NetError::kAssociationAborted: return "the peer aborted the association";
    case NetError::kAssociationLost: return "the peer of the association no longer responds";
    case NetError::kAssociationRestarted: return "the peer restarted the association";
    case NetError::kUserlandAbsent: {
      const char* fault = library::fault_in(simco_load_usrsctp);
      return fault == nullptr ? "the userland SCTP stack is not installed" : fault;
    }
    case NetError::kQuicAbsent:
      return "this program was built without QUIC: build it where libngtcp2-dev and "
             "libngtcp2-crypto-gnutls-dev are installed";
    case NetError::kQuicCertificates:
      return "QUIC requires a certificate, its key and an authority (--tls-certificate, --tls-key "
             "and --tls-ca)";
    case NetError::kQuicVersion: return "the peer does not support QUIC version 1";
    case NetError::kQuicViolation: return "the peer violated the QUIC protocol";
    case NetError::kQuicMemory:
      return "the peer leaves out so much that QUIC would take too much memory";
    case NetError::kCrowdedOut:
      return "closed during its TLS handshake to make room for other connections";
  }
  return "undefined transport error";
}

const boost::system::error_category& net_category() {
  static const NetCategory category;
  return category;
}

boost::system::error_code make_error_code(NetError error) {
  return {static_cast<int>(error), net_category()};
}

}  // namespace simco::net
