// QUIC in a program that was built without it: it says so.
#include <stdexcept>
#include <utility>

#include "simco/net/error.hpp"
#include "simco/net/quic/credentials.hpp"
#include "simco/net/transports.hpp"

namespace simco::net::quic {
namespace {

class AbsentDialer final : public Dialer {
 private:
  void start(const Addresses&) override { finish(Result::kRefused, NetError::kQuicAbsent); }
  void stop() override {}
};

}  // namespace

void Credentials::Free::operator()(gnutls_certificate_credentials_st*) const {}
void Credentials::Free::operator()(gnutls_priority_st*) const {}

std::expected<std::shared_ptr<const Credentials>, std::string> Credentials::load(TlsSide,
                                                                                 const TlsFiles&) {
  return std::unexpected(std::string(to_string(NetError::kQuicAbsent)));
}

void listen(const ListenRequest&, Listening&) {
  throw std::runtime_error("cannot listen on quic: " +
                           std::string(to_string(NetError::kQuicAbsent)));
}

std::shared_ptr<Dialer> make_dialer(DialRequest) { return std::make_shared<AbsentDialer>(); }

}  // namespace simco::net::quic
