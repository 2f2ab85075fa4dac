#include "tests/unit/net/quic_forger.hpp"

#include <ngtcp2/ngtcp2_crypto.h>

#include <utility>
#include <vector>

namespace simco::net::quic {
namespace {

thread_local Forge current_forge;

}  // namespace

Forger::Forger(Forge forge) { current_forge = std::move(forge); }
Forger::~Forger() { current_forge = nullptr; }

}  // namespace simco::net::quic

// The program finds this function before the library's, which it calls at its end.
extern "C" int ngtcp2_crypto_encrypt_cb(std::uint8_t* dest, const ngtcp2_crypto_aead* aead,
                                        const ngtcp2_crypto_aead_ctx* context,
                                        const std::uint8_t* frames, std::size_t size,
                                        const std::uint8_t* nonce, std::size_t nonce_size,
                                        const std::uint8_t* header, std::size_t header_size) {
  std::vector<std::uint8_t> changed;
  if (simco::net::quic::current_forge) {
    changed.assign(frames, frames + size);
    simco::net::quic::current_forge(changed);
    frames = changed.data();
  }
  return ngtcp2_crypto_encrypt(dest, aead, context, frames, size, nonce, nonce_size, header,
                               header_size) == 0
             ? 0
             : NGTCP2_ERR_CALLBACK_FAILURE;
}
