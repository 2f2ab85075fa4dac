// The common parts of ngtcp2 and GnuTLS in a connection and a gate; included by their sources only.
#pragma once

#include <malloc.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "simco/net/quic/connection.hpp"
#include "simco/net/quic/limits.hpp"
#include "simco/net/quic/ngtcp2.hpp"

namespace simco::net::quic {

/// The memory that ngtcp2 has allocated for a connection, which peers make grow that leave holes:
/// what they leave out and do not acknowledge is kept. It is counted and never refused: without
/// memory some versions stop the program while they write.
class LibraryMemory {
 public:
  explicit LibraryMemory(std::uint16_t streams)
      : max_(kGuestMemoryMax + streams * kStreamMemoryMax) {}
  LibraryMemory(const LibraryMemory&) = delete;
  LibraryMemory& operator=(const LibraryMemory&) = delete;

  const ngtcp2_mem* functions() const { return &functions_; }
  std::size_t used() const { return used_; }
  /// True if the connection has more than a peer may make it take.
  bool exceeded() const { return used_ > max_; }
  /// The peer has a session: see kMemoryMax. Returns false if that was known.
  bool widen() {
    if (std::exchange(wide_, true)) return false;
    max_ += kMemoryMax - kGuestMemoryMax;
    return true;
  }

 private:
  static LibraryMemory& self(void* user) { return *static_cast<LibraryMemory*>(user); }
  static void* counted(void* room, void* user) {
    self(user).used_ += ::malloc_usable_size(room);
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
    self(user).used_ -= before;
    return counted(moved, user);
  }
  static void release(void* room, void* user) {
    self(user).used_ -= ::malloc_usable_size(room);
    std::free(room);
  }

  std::size_t max_;       ///< octets
  std::size_t used_ = 0;  ///< octets
  bool wide_ = false;
  const ngtcp2_mem functions_{this, allocate, release, allocate_zeros, reallocate};
};

/// Connection identifiers as the library has them, and back.
inline ngtcp2_cid library_id(std::string_view id) {
  ngtcp2_cid result;
  ngtcp2_cid_init(&result, reinterpret_cast<const std::uint8_t*>(id.data()), id.size());
  return result;
}

inline ConnectionId own_id(const ngtcp2_cid& id) {
  return {reinterpret_cast<const char*>(id.data), id.datalen};
}

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

}  // namespace simco::net::quic
