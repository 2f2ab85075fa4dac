// The options that the headers of both stacks call by the same names, though with other values and
// layouts. Include it after <netinet/sctp.h> or <usrsctp.h>, in a single file of each stack.
#pragma once

#include <arpa/inet.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <span>

#include "simco/net/error.hpp"
#include "simco/net/sctp/limits.hpp"
#include "simco/net/sctp/socket.hpp"
#include "simco/net/transport.hpp"

namespace simco::net::sctp {
namespace {

std::uint32_t milliseconds(std::chrono::milliseconds time) {
  return static_cast<std::uint32_t>(time.count());
}

/// Streams and the INIT's repetition; they count when an association begins. `set(name, value)`
/// sets an option of level IPPROTO_SCTP.
template <class Set>
void set_initiation(const SctpOptions& options, Set set) {
  sctp_initmsg init{};
  init.sinit_num_ostreams = options.streams;
  init.sinit_max_instreams = options.streams;
  init.sinit_max_attempts = kSctpInitAttempts;
  init.sinit_max_init_timeo = static_cast<std::uint16_t>(kSctpInitTimeout.count());
  set(SCTP_INITMSG, init);
}

/// All else except options with different names: buffers, scheduler, heartbeat.
template <class Set>
void set_common_options(const SctpOptions& options, Set set) {
  const int on = 1;
  set(SCTP_NODELAY, on);
  set(SCTP_RECVRCVINFO, on);
  const int none = 0;  // the pieces of a message come without others between them
  set(SCTP_FRAGMENT_INTERLEAVE, none);
  for (const int type : {static_cast<int>(SCTP_ASSOC_CHANGE), static_cast<int>(SCTP_SHUTDOWN_EVENT),
                         static_cast<int>(SCTP_PARTIAL_DELIVERY_EVENT)}) {
    sctp_event event{};
    event.se_type = static_cast<std::uint16_t>(type);
    event.se_on = 1;
    set(SCTP_EVENT, event);
  }
  sctp_rtoinfo rto{};
  rto.srto_initial = milliseconds(options.rto_initial);
  rto.srto_min = milliseconds(options.rto_min);
  rto.srto_max = milliseconds(options.rto_max);
  set(SCTP_RTOINFO, rto);
  sctp_sack_info sack{};
  sack.sack_delay = milliseconds(options.sack_delay);
  sack.sack_freq = options.sack_delay.count() == 0 ? 1 : 2;
  set(SCTP_DELAYED_SACK, sack);
}

sctp_paddrparams path_parameters(const SctpOptions& options) {
  sctp_paddrparams path{};
  path.spp_hbinterval = milliseconds(options.heartbeat);
  path.spp_flags = options.heartbeat.count() == 0 ? SPP_HB_DISABLE : SPP_HB_ENABLE;
  return path;
}

/// The parameters of a sent message.
sctp_sndinfo send_info(const Delivery& delivery, Socket::Sending sending) {
  sctp_sndinfo info{};
  info.snd_sid = delivery.stream.value;
  info.snd_flags = static_cast<std::uint16_t>((delivery.unordered ? SCTP_UNORDERED : 0) |
                                              (sending.i_bit ? SCTP_SACK_IMMEDIATELY : 0));
  info.snd_ppid = htonl(sending.payload_protocol);
  return info;
}

/// The meaning of a notification (RFC 6458 section 6). `cannot_start(aborted)` returns the reason
/// if an association did not come up.
template <class CannotStart>
Input judge_notification(std::span<const std::byte> octets, CannotStart cannot_start) {
  sctp_notification note{};
  std::memcpy(&note, octets.data(), std::min(octets.size(), sizeof note));
  using Kind = Input::Kind;
  switch (note.sn_header.sn_type) {
    case SCTP_SHUTDOWN_EVENT: return Input(Kind::kPeerShutdown);
    case SCTP_PARTIAL_DELIVERY_EVENT: return Input(make_error_code(NetError::kAssociationAborted));
    case SCTP_ASSOC_CHANGE: break;
    default: return Input(Kind::kConnected);  // nothing that matters: read on
  }
  // The peer's ABORT chunk is attached, if it sent ABORT; otherwise we gave up.
  const bool aborted = note.sn_header.sn_length > sizeof(sctp_assoc_change);
  switch (note.sn_assoc_change.sac_state) {
    case SCTP_RESTART: return Input(Kind::kRestart);
    case SCTP_SHUTDOWN_COMP: return Input(Kind::kEnd);
    case SCTP_CANT_STR_ASSOC: return Input(boost::system::error_code(cannot_start(aborted)));
    case SCTP_COMM_LOST:
      return Input(
          make_error_code(aborted ? NetError::kAssociationAborted : NetError::kAssociationLost));
    default: return Input(Kind::kConnected);
  }
}

}  // namespace
}  // namespace simco::net::sctp
