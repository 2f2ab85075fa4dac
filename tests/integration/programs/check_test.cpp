// simco-middlebox --check: errors, options without effect, and valid configurations.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/folder.hpp"
#include "tests/support/program.hpp"

namespace simco::test {
namespace {

class Check : public testing::Test {
 protected:
  /// The services of this machine do not determine the user of the check.
  Outcome check(const std::string& configuration, const std::string& user = "root") {
    const auto file = folder_.write("box.toml", configuration, 0644);
    return run({"simco-middlebox", "--config", file, "--check", "--check-user", user});
  }
  void says(const std::string& configuration, const std::string& text, int code) {
    const auto checked = check(configuration);
    EXPECT_EQ(checked.code, code) << checked.err;
    EXPECT_TRUE(checked.err.contains(text)) << configuration << "\n" << checked.err;
  }
  void rejects(const std::string& configuration, const std::string& text) {
    says(configuration, text, 2);
  }
  void warns(const std::string& configuration, const std::string& text) {
    says(configuration, "warning: " + text, 0);
  }
  const std::string proxy_ = "[[agent]]\nname = \"proxy\"\nsecret-file = \"proxy.secret\"\n";
  const Folder folder_{"check"};
};

TEST_F(Check, FindsWhatWouldNotWork) {
  folder_.write("proxy.secret", "s\n");
  rejects("require = \"sa\"\n", "error: require = \"sa\": no [[agent]] has a secret");
  rejects(
      "state = \"" + folder_.file("none/rules.db") + "\"\n",
      "error: state: " + folder_.file("none") + " cannot be written: No such file or directory");
  rejects("port = 7701\nmetrics = \"127.0.0.1:7701\"\n",
          "error: metrics: tcp 127.0.0.1:7701 is used twice");
  rejects("port = 7701\n[[listener]]\nport = 7702\n[[listener]]\nport = 7702\n",
          "error: listen: tcp 127.0.0.1:7702 is used twice");
  rejects("max-sessions = 0\n", "error: max-sessions is 0, so that no session can be opened");
  rejects("backend = \"nftables\"\ninternal-if = \"none0\"\nexternal-if = \"lo\"\n",
          "error: internal-if: there is no interface 'none0'");
  rejects("[[agent]]\nname = \"proxy\"\ncertificate = true\n",
          "error: agent 'proxy': certificate = true, but no listener has TLS");
}

TEST_F(Check, WarnsOfWhatHasNoEffect) {
  folder_.write("proxy.secret", "s\n");
  warns(proxy_, "backend = \"null\" enforces no rules");
  warns(proxy_ + "max-lifetime = 0\n", "agent 'proxy': max-lifetime is 0");
  warns(proxy_ + "see = [\"nobody\"]\n", "agent 'proxy': 'see' names 'nobody'");
  warns("ports = \"5000-6000\"\n" + proxy_, "ports has no effect without mode = \"nat\"");
  warns("streams = 4\n" + proxy_, "streams has no effect");
  warns("inspect = \"127.0.0.1:9466\"\n" + proxy_,
        "inspect has nothing to tell without counters = true");
  warns("state-sync = \"system\"\n" + proxy_, "state-sync has no effect without state");
  warns("listen = [\"192.0.2.99\"]\n" + proxy_,
        "listen: 192.0.2.99 is not an address of this host");
  folder_.write("proxy.secret", "s\n", 0644);
  warns(proxy_, folder_.file("proxy.secret") + " has a secret and can be read by any user");
  EXPECT_EQ(check(proxy_).out, "simco-middlebox: configuration OK\n");
}

TEST_F(Check, MistakesOfTheFileNameTheLineAndWhatToWrite) {
  rejects("port = 7701\nmode = nat\n", "box.toml:2: text needs quotes: mode = \"nat\"");
  rejects("[[agents]]\nname = \"proxy\"\n", "unknown option 'agents'; did you mean agent?");
  rejects("internal = [\"10.0.0.0/8\"]\n", "'internal' belongs below an [[agent]] line");
  rejects(proxy_ + "intrenal = [\"10.0.0.0/8\"]\n",
          "'intrenal' is not a valid key for an agent; did you mean internal?");
  rejects("allow-anonymous = \"yes\"\n",
          "'allow-anonymous' must be true or false, without quotes (see simco-middlebox.toml(5))");
  rejects("prot = 7626\n", "unknown option 'prot'; did you mean port?");
  rejects(proxy_, "proxy.secret, which cannot be read: No such file or directory");
  folder_.write("proxy.secret", "\n");
  rejects(proxy_, "proxy.secret, which is empty");
  rejects("listen = [\"::1:7702\"]\n", "'::1:7702' is ambiguous");
}

TEST_F(Check, IsDoneWithTheRightsOfTheService) {
  if (::geteuid() != 0) GTEST_SKIP() << "this machine: only root can become another user";
  // The service may enter the folder and read the configuration, and not the secret.
  ASSERT_EQ(::chmod(folder_.path.c_str(), 0755), 0);
  folder_.write("proxy.secret", "s\n");
  const auto refused = check(proxy_, "nobody");
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(refused.err.contains("checking as the user nobody"));
  EXPECT_TRUE(refused.err.contains("proxy.secret, which cannot be read: Permission denied"))
      << refused.err;
  const auto nobody = check(proxy_, "no-such-user");
  EXPECT_EQ(nobody.code, 2);
  EXPECT_TRUE(nobody.err.contains("there is no user 'no-such-user'"));
}

}  // namespace
}  // namespace simco::test
