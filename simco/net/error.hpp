// Errors of transports: those with an error number of the system, and others.
#pragma once

#include <boost/system/error_code.hpp>
#include <cerrno>
#include <cstdint>
#include <string_view>

namespace simco::net {

/// errno as an error code.
inline boost::system::error_code last_system_error() {
  return {errno, boost::system::system_category()};
}

/// Whether errno says no more than: later.
inline bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

enum class NetError : std::uint8_t {
  kNoKernelSctp = 1,      ///< the kernel's SCTP was asked for, and it has none
  kNoKernelEncaps,        ///< net.sctp.udp_port is 0, so the kernel's SCTP is not encapsulated
  kOtherEventLoop,        ///< userland SCTP is in use by another event loop of this process
  kAssociationAborted,    ///< the peer aborted the association (ABORT chunk)
  kAssociationLost,       ///< the peer no longer responds
  kAssociationRestarted,  ///< the peer restarted and has lost its earlier state (RFC
                          ///< 9260 5.2)
  kCrowdedOut,            ///< closed before the TLS handshake was over, to make room for others
  kUserlandAbsent,        ///< the library of userland SCTP is not installed
  kQuicAbsent,            ///< this program was built without QUIC
  kQuicCertificates,      ///< there are none, or none that QUIC can use
  kQuicVersion,           ///< the peer has no version of QUIC in common with us
  kQuicViolation,         ///< the peer violated QUIC
  kQuicMemory,            ///< the peer made QUIC take more memory than a connection may
};

/// A sentence for `error`, with the remedy if there is any.
std::string_view to_string(NetError error);

/// Category of NetError; its name is "simco.net".
const boost::system::error_category& net_category();
boost::system::error_code make_error_code(NetError error);

}  // namespace simco::net

namespace boost::system {
template <>
struct is_error_code_enum<simco::net::NetError> : std::true_type {};
}  // namespace boost::system
