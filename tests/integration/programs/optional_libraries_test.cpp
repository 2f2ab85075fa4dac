// Libraries that programs load only when asked for what takes them: which they have loaded, and
// what they say if one is missing.
#include <gtest/gtest.h>

#include <map>

#include "tests/support/certificates.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/port.hpp"
#include "tests/support/program.hpp"

namespace simco::test {
namespace {

#ifdef SIMCO_LOADED_QUIC
constexpr bool kQuic = true;
#else
constexpr bool kQuic = false;
#define SIMCO_LOADED_QUIC ""
#define SIMCO_PACKAGE_QUIC ""
#endif

class OptionalLibraries : public testing::Test {
 protected:
  Words with_tls(const Words& words) const {
    return words +
           Words{"--port",           "0",         "--tls-ca", files_.authority, "--tls-certificate",
                 files_.certificate, "--tls-key", files_.key};
  }
  /// Those that the process has now.
  static std::string loaded(const Program& program) {
    const auto maps = contents_of("/proc/" + std::to_string(program.pid()) + "/maps");
    std::string result;
    for (const char* library : {"hiredis", "ngtcp2", "gnutls", "usrsctp"}) {
      if (maps.contains(std::string("/lib") + library)) result += std::string(library) + " ";
    }
    return result;
  }
  /// Runs a program for which `library` is a file that is none.
  Outcome run_without(const std::string& library, const Words& words, int code) const {
    folder_.write(library, "");
    ::setenv("LD_LIBRARY_PATH", folder_.path.c_str(), 1);
    auto outcome = run(words, code);
    ::unsetenv("LD_LIBRARY_PATH");
    std::filesystem::remove(folder_.file(library));
    return outcome;
  }
  std::string fault(const std::string& library, const std::string& package) const {
    return "cannot load " + folder_.file(library) + ": file too short" +
           (package.empty() ? "" : ": install the package " + package);
  }

  const Authority authority_;
  const net::TlsFiles files_ = authority_.issue("box", "IP:127.0.0.1");
  const Folder folder_{"optional-libraries"};
};

TEST_F(OptionalLibraries, AreNotLoadedByWhoDoesNotAskForThem) {
  Program middlebox(with_tls({"simco-middlebox", "--transport", "tcp", "--state",
                              folder_.file("rules.db"), "--log-level", "debug"}));
  const auto port = middlebox.listening_port();
  const auto own = authority_.issue("agent");
  Program agent({"simcoctl", "--connect", "127.0.0.1:" + std::to_string(port), "--tls-ca",
                 own.authority, "--tls-certificate", own.certificate, "--tls-key", own.key,
                 "watch"});
  ASSERT_TRUE(middlebox.says("session open"));
  EXPECT_EQ(loaded(middlebox), "");
  EXPECT_EQ(loaded(agent), "");
}

TEST_F(OptionalLibraries, AreLoadedByWhoAsks) {
  Program sctp({"simco-middlebox", "--port", "0", "--transport", "sctp", "--sctp-stack", "userland",
                "--udp-encaps", std::to_string(free_port())});
  sctp.listening_port("sctp");
  EXPECT_EQ(loaded(sctp), "usrsctp ");
  if (!kQuic) return;
  Program quic(with_tls({"simco-middlebox", "--transport", "quic"}));
  quic.listening_port("quic");
  EXPECT_EQ(loaded(quic), "ngtcp2 gnutls ");
}

TEST_F(OptionalLibraries, AreNamedWhenTheyAreMissing) {
  struct Case {
    std::string library;
    std::string fault;
    Words words;
    std::string about;
  };
  const auto hiredis = fault(SIMCO_LOADED_HIREDIS, SIMCO_PACKAGE_HIREDIS);
  const auto usrsctp = fault(SIMCO_LOADED_USRSCTP, SIMCO_PACKAGE_USRSCTP);
  std::vector<Case> cases = {
      {SIMCO_LOADED_HIREDIS,
       hiredis,
       {"simco-middlebox", "--state", "redis://127.0.0.1"},
       "--state: "},
      {SIMCO_LOADED_USRSCTP,
       usrsctp,
       {"simco-middlebox", "--transport", "sctp", "--sctp-stack", "userland"},
       "transport sctp: "},
      {SIMCO_LOADED_USRSCTP,
       usrsctp,
       {"simcoctl", "--transport", "sctp", "--sctp-stack", "userland", "list"},
       "transport sctp: "}};
  if (kQuic) {
    const auto quic = fault(SIMCO_LOADED_QUIC, SIMCO_PACKAGE_QUIC);
    cases.push_back({SIMCO_LOADED_QUIC,
                     quic,
                     {"simco-middlebox", "--transport", "tcp,quic"},
                     "transport quic: "});
    cases.push_back(
        {SIMCO_LOADED_QUIC, quic, {"simcoctl", "--transport", "quic", "list"}, "transport quic: "});
  }
  for (const auto& [library, why, words, about] : cases) {
    const auto said = run_without(library, words, 2).err;
    EXPECT_TRUE(said.starts_with(words[0] + ": " + about + why + " (--help ")) << said;
    EXPECT_EQ(count_of(said, "\n"), 1U) << said;
    if (words[0] != "simco-middlebox") continue;
    EXPECT_EQ(run_without(library, words + Words{"--check"}, 2).err, said);
    // Who does not ask for it does not miss it.
    run_without(library, {"simco-middlebox", "--check"}, 0);
    const auto version = run_without(library, {"simco-middlebox", "--version"}, 0).out;
    EXPECT_TRUE(version.starts_with("simco-middlebox " SIMCO_VERSION "\n")) << version;
    EXPECT_TRUE(version.contains(": " + why + "\n")) << version;
    EXPECT_EQ(count_of(version, ": installed\n"), kQuic ? 2U : 1U) << version;
  }
}

}  // namespace
}  // namespace simco::test
