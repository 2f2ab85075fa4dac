#include "tests/support/certificates.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace simco::test {

Authority::Authority(const std::string& name) {
  static int count = 0;
  folder_ =
      testing::TempDir() + "simco-ca-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
  std::filesystem::create_directory(folder_);
  shell(
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
      "-subj '/CN=" +
      name + "' -keyout ca.key -out ca.pem");
}

Authority::~Authority() { std::filesystem::remove_all(folder_); }

net::TlsFiles Authority::issue(const std::string& name, const std::string& names,
                               bool expired) const {
  const std::string extensions = names.empty() ? "" : "-addext 'subjectAltName=" + names + "'";
  shell("openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj '/CN=" + name +
        "' " + extensions + " -keyout " + name + ".key -out " + name + ".csr");
  // OpenSSL 3.4 and later take no number below 0, earlier ones no date.
  const std::string past =
      "$(openssl x509 -help 2>&1 | grep -q -e -not_after &&"
      " echo -not_before 20200101000000Z -not_after 20200102000000Z || echo -days -1)";
  shell("openssl x509 -req -in " + name + ".csr -CA ca.pem -CAkey ca.key -CAcreateserial " +
        (expired ? past : "-days 2") + " -copy_extensions copy -out " + name + ".pem");
  return files(name);
}

void Authority::shell(const std::string& command) const {
  const auto full = "cd " + folder_ + " && " + command + " >openssl.log 2>&1";
  EXPECT_EQ(std::system(full.c_str()), 0) << command;
}

std::shared_ptr<const net::TlsContext> load_tls(net::TlsSide side, const net::TlsFiles& files) {
  auto loaded = net::TlsContext::load(side, files);
  EXPECT_TRUE(loaded) << loaded.error();
  return loaded ? *loaded : nullptr;
}

}  // namespace simco::test
