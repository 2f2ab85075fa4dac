// The values that simcoctl's users keep: in files with profiles and in the environment.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/integration/router/box.hpp"
#include "tests/support/program.hpp"

namespace simco::test {
namespace {

/// A user's home, and simcoctl with it.
class Kept : public testing::Test {
 protected:
  void keep(const std::string& text) {
    std::filesystem::create_directories(home_.file(".config/simco"));
    file_ = home_.write(".config/simco/simcoctl.toml", text);
  }
  Words simcoctl(const Words& variables, const Words& words) const {
    const Words home{"/usr/bin/env",      "-u", "SIMCO_CONFIG", "-u", "XDG_CONFIG_HOME",
                     "HOME=" + home_.path};
    return home + variables + Words{SIMCO_BIN_DIR "/simcoctl"} + words;
  }
  /// The middlebox that simcoctl tries, of ports on which none is.
  std::string target(const Words& variables, const Words& words) const {
    const auto text = run(simcoctl(variables, words + Words{"list"}), 1).err;
    const auto end = text.find(": Connection refused");
    return end == text.npos ? text
                            : text.substr(std::string("simcoctl: connect to ").size(),
                                          end - std::string("simcoctl: connect to ").size());
  }
  std::string complaint(const Words& variables, const Words& words) const {
    return run(simcoctl(variables, words + Words{"list"}), 2).err;
  }

  const Folder home_{"home"};
  std::string file_;
};

TEST_F(Kept, ValuesSetTheOptionsOfAllCommands) {
  Box box("port = 0\n[[agent]]\nname = \"proxy\"\nsecret-file = \"proxy.secret\"\n");
  keep("connect = \"127.0.0.1:" + std::to_string(box.port()) + "\"\nname = \"proxy\"\n" +
       "secret-file = \"" + box.path("proxy.secret") + "\"\ntimeout = 120\n");
  const auto enabled = run(simcoctl({}, {"enable", "--internal", "10.0.0.5:5004", "--udp"}), 0).out;
  EXPECT_TRUE(enabled.contains(": enabled for 120 s,")) << enabled;
  EXPECT_EQ(count_of(run(simcoctl({}, {"list", "--pids"}), 0).out, "\n"), 1U);
  // Those of a profile stand alone.
  keep("name = \"proxy\"\nsecret-file = \"" + box.path("wrong.secret") +
       "\"\n[profiles.box]\nconnect = \"127.0.0.1:" + std::to_string(box.port()) +
       "\"\ntimeout = 120\n");
  const auto anonymous = run(simcoctl({"SIMCO_NAME=proxy"}, {"--profile", "box", "list"}), 1).err;
  EXPECT_TRUE(anonymous.contains("the middlebox requires authentication")) << anonymous;
}

TEST_F(Kept, TheNearestValueWins) {
  keep("connect = \"127.0.0.1:1\"\n[profiles.lab]\nconnect = \"127.0.0.1:2\"\n");
  EXPECT_EQ(target({}, {}), "127.0.0.1:1");
  EXPECT_EQ(target({"SIMCO_PROFILE=lab"}, {}), "127.0.0.1:2");
  EXPECT_EQ(target({"SIMCO_CONNECT=127.0.0.1:3", "SIMCO_PROFILE=lab"}, {}), "127.0.0.1:3");
  EXPECT_EQ(target({"SIMCO_CONNECT=127.0.0.1:3"}, {"--profile", "lab"}), "127.0.0.1:2");
  EXPECT_EQ(target({"SIMCO_CONNECT=127.0.0.1:3"}, {"--profile", "lab", "--connect", "127.0.0.1:4"}),
            "127.0.0.1:4");
  const auto other = home_.write("other.toml", "connect = \"127.0.0.1:5\"\n");
  EXPECT_EQ(target({}, {"--config", other}), "127.0.0.1:5");
  EXPECT_EQ(target({"SIMCO_CONFIG=" + other, "SIMCO_CONNECT="}, {}), "127.0.0.1:5");
}

TEST_F(Kept, AWrongValueIsNamedWithItsPlace) {
  keep("conect = \"127.0.0.1:1\"\n");
  EXPECT_TRUE(complaint({}, {}).starts_with("simcoctl: " + file_ +
                                            ":1: unknown option 'conect'; did you mean connect?"));
  keep("\nconnect = \"127.0.0.1:x\"\n[profiles.lab]\ntimeout = 0\n");
  EXPECT_TRUE(complaint({}, {}).contains("--connect: ")) << complaint({}, {});
  EXPECT_TRUE(complaint({}, {}).contains(" (--connect from " + file_ + ":2)")) << complaint({}, {});
  const auto variable = complaint({"SIMCO_TIMEOUT=soon"}, {});
  EXPECT_TRUE(variable.starts_with("simcoctl: SIMCO_TIMEOUT: expected a number from 0.01 to "))
      << variable;
  const auto profile = complaint({}, {"--profile", "lab"});
  EXPECT_TRUE(profile.starts_with("simcoctl: " + file_ + ":4: --timeout: expected a number from "))
      << profile;
  const auto unknown = complaint({}, {"--profile", "home"});
  EXPECT_TRUE(unknown.contains("there is no profile 'home'; there are lab")) << unknown;
  const auto named = complaint({"SIMCO_PROFILE=home"}, {});
  EXPECT_TRUE(named.contains("there are lab (--profile from SIMCO_PROFILE)")) << named;
  keep("name = \"proxy\"\nsecret-file = \"/nowhere\"\n");
  const auto secret = complaint({}, {});
  EXPECT_TRUE(secret.contains("--secret-file from " + file_ + ":2)")) << secret;
  // Metrics take no secret.
  run(simcoctl({}, {"top", "--metrics", "127.0.0.1:1", "--count", "1"}), 1);
  const auto missing = complaint({}, {"--config", home_.file("none.toml")});
  EXPECT_TRUE(missing.contains("cannot read configuration file")) << missing;
}

}  // namespace
}  // namespace simco::test
