// An authority and the certificates that it signs, made afresh with openssl in a folder that goes
// with the test.
#pragma once

#include <memory>
#include <string>

#include "simco/net/tls.hpp"

namespace simco::test {

class Authority {
 public:
  explicit Authority(const std::string& name = "authority");
  Authority(const Authority&) = delete;
  Authority& operator=(const Authority&) = delete;
  ~Authority();

  std::string certificate() const { return folder_ + "/ca.pem"; }
  /// Signs a certificate. `names`: its subjectAltName, such as "DNS:a,IP:127.0.0.1"; empty: none.
  /// The files are called after `name`, which is its common name.
  net::TlsFiles issue(const std::string& name, const std::string& names = {},
                      bool expired = false) const;
  net::TlsFiles files(const std::string& name) const {
    return {folder_ + "/" + name + ".pem", folder_ + "/" + name + ".key", certificate()};
  }

 private:
  void shell(const std::string& command) const;
  std::string folder_;
};

/// `files` as a context.
std::shared_ptr<const net::TlsContext> load_tls(net::TlsSide side, const net::TlsFiles& files);

}  // namespace simco::test
