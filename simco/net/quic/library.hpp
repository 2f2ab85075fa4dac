// What the parts of a connection share of ngtcp2 and GnuTLS; included by its sources only.
#pragma once

#include <gnutls/gnutls.h>
#include <malloc.h>
#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>

#include <cstdlib>
#include <string_view>

#include "simco/net/quic/connection.hpp"

namespace simco::net::quic {

/// What both ends must agree on (RFC 7301).
inline constexpr std::string_view kAlpn = "simco";

inline ngtcp2_tstamp timestamp(Time now) { return static_cast<ngtcp2_tstamp>(now.count()); }

/// `way` as the library has it, valid as long as both exist.
class PathOf {
 public:
  explicit PathOf(const Connection::Way& way)
      : way_(way), path_{address(way_.local), address(way_.remote), nullptr} {}
  PathOf(const PathOf&) = delete;
  PathOf& operator=(const PathOf&) = delete;
  const ngtcp2_path* get() const { return &path_; }

 private:
  static ngtcp2_addr address(Connection::Udp::endpoint& endpoint) {
    return {reinterpret_cast<ngtcp2_sockaddr*>(endpoint.data()),
            static_cast<ngtcp2_socklen>(endpoint.size())};
  }
  Connection::Way way_;
  ngtcp2_path path_;
};

/// What ngtcp2 has allocated for a connection. It is counted and never refused: without memory some
/// versions stop the program while they write.
struct Connection::Memory {
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  std::size_t used = 0;  ///< octets
  const ngtcp2_mem functions{this, allocate, release, allocate_zeros, reallocate};

 private:
  static Memory& self(void* user) { return *static_cast<Memory*>(user); }
  static void* counted(void* room, void* user) {
    self(user).used += ::malloc_usable_size(room);
    return room;
  }
  static void* allocate(std::size_t size, void* user) { return counted(std::malloc(size), user); }
  static void* allocate_zeros(std::size_t count, std::size_t size, void* user) {
    return counted(std::calloc(count, size), user);
  }
  static void* reallocate(void* room, std::size_t size, void* user) {
    const auto before = ::malloc_usable_size(room);
    void* const moved = std::realloc(room, size);
    if (moved == nullptr && size != 0) return nullptr;
    self(user).used -= before;
    return counted(moved, user);
  }
  static void release(void* room, void* user) {
    self(user).used -= ::malloc_usable_size(room);
    std::free(room);
  }
};

/// The TLS session of a connection, which refers back to it; needed until the handshake is over.
struct Connection::Tls {
  Tls() = default;
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;
  ~Tls() {
    if (session != nullptr) gnutls_deinit(session);
  }
  gnutls_session_t session = nullptr;
  ngtcp2_crypto_conn_ref back{};

  static ngtcp2_conn* connection_of(ngtcp2_crypto_conn_ref* back);
  static int verify(gnutls_session_t session);
  static int keep_secret(gnutls_session_t, const char*, const gnutls_datum_t*);
};

}  // namespace simco::net::quic
