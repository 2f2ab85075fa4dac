// simco-middlebox --check: errors, options without effect, and valid configurations.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "tests/support/folder.hpp"
#include "tests/support/program.hpp"

namespace simco::test {
namespace {

struct Checked {
  int code = -1;
  std::string out;
  std::string err;
};

class Check : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path + "/" + name; }
  void write(const std::string& name, const std::string& text, mode_t mode = 0600) {
    std::ofstream(path(name)) << text;
    ::chmod(path(name).c_str(), mode);
  }
  Checked check(const std::string& configuration, std::vector<std::string> more = {}) {
    write("box.toml", configuration);
    std::vector<std::string> words{"simco-middlebox", "--config", path("box.toml"), "--check"};
    // The services of this machine do not determine the user of the check.
    if (more.empty()) more = {"--check-user", "root"};
    words.insert(words.end(), more.begin(), more.end());
    Program program(words);
    Checked result;
    result.code = program.wait().value_or(-99);
    result.out = program.out();
    result.err = program.err();
    return result;
  }
  void finds(const std::string& configuration, const std::string& text, bool is_error) {
    const auto checked = check(configuration);
    EXPECT_EQ(checked.code, is_error ? 2 : 0) << checked.err;
    EXPECT_NE(checked.err.find((is_error ? "error: " : "warning: ") + text), std::string::npos)
        << configuration << "\n"
        << checked.err;
  }
  void rejects(const std::string& configuration, const std::string& text) {
    const auto checked = check(configuration);
    EXPECT_EQ(checked.code, 2);
    EXPECT_NE(checked.err.find(text), std::string::npos) << configuration << "\n" << checked.err;
  }
  const std::string proxy_ = "[[agent]]\nname = \"proxy\"\nsecret-file = \"proxy.secret\"\n";

 private:
  Folder folder_{"check"};
};

TEST_F(Check, FindsWhatWouldNotWork) {
  write("proxy.secret", "s\n");
  finds("require = \"sa\"\n", "require = \"sa\": no [[agent]] has a secret", true);
  finds("state = \"" + path("none/rules.db") + "\"\n",
        "state: " + path("none") + " cannot be written: No such file or directory", true);
  finds("port = 7701\nmetrics = \"127.0.0.1:7701\"\n", "metrics: tcp 127.0.0.1:7701 is used twice",
        true);
  finds("port = 7701\n[[listener]]\nport = 7702\n[[listener]]\nport = 7702\n",
        "listen: tcp 127.0.0.1:7702 is used twice", true);
  finds("max-sessions = 0\n", "max-sessions is 0, so that no session can be opened", true);
  finds("backend = \"nftables\"\ninternal-if = \"none0\"\nexternal-if = \"lo\"\n",
        "internal-if: there is no interface 'none0'", true);
  finds("[[agent]]\nname = \"proxy\"\ncertificate = true\n",
        "agent 'proxy': certificate = true, but no listener has TLS", true);
}

TEST_F(Check, WarnsOfWhatHasNoEffect) {
  write("proxy.secret", "s\n");
  finds(proxy_, "backend = \"null\" enforces no rules", false);
  finds(proxy_ + "max-lifetime = 0\n", "agent 'proxy': max-lifetime is 0", false);
  finds(proxy_ + "see = [\"nobody\"]\n", "agent 'proxy': 'see' names 'nobody'", false);
  finds("ports = \"5000-6000\"\n" + proxy_, "ports has no effect without mode = \"nat\"", false);
  finds("streams = 4\n" + proxy_, "streams has no effect", false);
  finds("inspect = \"127.0.0.1:9466\"\n" + proxy_,
        "inspect has nothing to tell without counters = true", false);
  finds("state-sync = \"system\"\n" + proxy_, "state-sync has no effect without state", false);
  finds("listen = [\"192.0.2.99\"]\n" + proxy_, "listen: 192.0.2.99 is not an address of this host",
        false);
  write("proxy.secret", "s\n", 0644);
  finds(proxy_, path("proxy.secret") + " has a secret and can be read by any user", false);
  const auto checked = check(proxy_);
  EXPECT_EQ(checked.out, "simco-middlebox: configuration OK\n");
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
  write("proxy.secret", "\n");
  rejects(proxy_, "proxy.secret, which is empty");
  rejects("listen = [\"::1:7702\"]\n", "'::1:7702' is ambiguous");
}

TEST_F(Check, IsDoneWithTheRightsOfTheService) {
  if (::geteuid() != 0) GTEST_SKIP() << "this machine: only root can become another user";
  // The service may enter the folder and read the configuration, and not the secret.
  ASSERT_EQ(::chmod(path("").c_str(), 0755), 0);
  write("proxy.secret", "s\n", 0600);
  write("box.toml", proxy_, 0644);
  Program program(
      {"simco-middlebox", "--config", path("box.toml"), "--check", "--check-user", "nobody"});
  EXPECT_EQ(program.wait(), 2);
  EXPECT_NE(program.err().find("checking as the user nobody"), std::string::npos);
  EXPECT_NE(program.err().find("proxy.secret, which cannot be read: Permission denied"),
            std::string::npos)
      << program.err();
  const auto nobody = check(proxy_, {"--check-user", "no-such-user"});
  EXPECT_EQ(nobody.code, 2);
  EXPECT_NE(nobody.err.find("there is no user 'no-such-user'"), std::string::npos);
}

}  // namespace
}  // namespace simco::test
