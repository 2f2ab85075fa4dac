// An authority and the certificates that it signs, made afresh with openssl in a folder that goes
// with the test.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "simco/net/tls.hpp"

namespace simco::test {

class Authority {
 public:
  explicit Authority(const std::string& name = "authority") {
    static int count = 0;
    folder_ = testing::TempDir() + "simco-ca-" + std::to_string(::getpid()) + "-" +
              std::to_string(++count);
    std::filesystem::create_directory(folder_);
    shell(
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
        "-subj '/CN=" +
        name + "' -keyout ca.key -out ca.pem");
  }
  Authority(const Authority&) = delete;
  Authority& operator=(const Authority&) = delete;
  ~Authority() { std::filesystem::remove_all(folder_); }

  std::string certificate() const { return folder_ + "/ca.pem"; }
  /// Signs a certificate. `names`: its subjectAltName, such as "DNS:a,IP:127.0.0.1"; empty: none.
  /// The files are called after `name`, which is its common name.
  net::TlsFiles issue(const std::string& name, const std::string& names = {},
                      const std::string& days = "2") const {
    const std::string extensions = names.empty() ? "" : "-addext 'subjectAltName=" + names + "'";
    shell("openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj '/CN=" + name +
          "' " + extensions + " -keyout " + name + ".key -out " + name + ".csr");
    shell("openssl x509 -req -in " + name + ".csr -CA ca.pem -CAkey ca.key -CAcreateserial -days " +
          days + " -copy_extensions copy -out " + name + ".pem");
    return files(name);
  }
  net::TlsFiles files(const std::string& name) const {
    return {folder_ + "/" + name + ".pem", folder_ + "/" + name + ".key", certificate()};
  }

 private:
  void shell(const std::string& command) const {
    const auto full = "cd " + folder_ + " && " + command + " >openssl.log 2>&1";
    EXPECT_EQ(std::system(full.c_str()), 0) << command;
  }
  std::string folder_;
};

/// `files` as a context.
inline std::shared_ptr<const net::TlsContext> load_tls(net::TlsSide side,
                                                       const net::TlsFiles& files) {
  auto loaded = net::TlsContext::load(side, files);
  EXPECT_TRUE(loaded) << loaded.error();
  return loaded ? *loaded : nullptr;
}

}  // namespace simco::test
