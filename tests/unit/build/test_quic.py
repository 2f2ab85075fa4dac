"""With which versions of ngtcp2 QUIC is a part of the build, and what is said if it is not."""
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
HANG_LIMIT_S = 600
PROJECT = f"""
cmake_minimum_required(VERSION 3.25)
project(quic NONE)
find_package(PkgConfig REQUIRED)
include({ROOT}/scripts/quic.cmake)
if(quic_FOUND)
  message(STATUS "QUIC is a part")
endif()
"""
MODULES = ("libngtcp2", "libngtcp2_crypto_gnutls", "gnutls")


class Quic(unittest.TestCase):
    def configure(self, asked, versions):
        """Exit status and words of a configuration where pkg-config knows these modules and no others."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "CMakeLists.txt").write_text(PROJECT)
            for module, version in versions.items():
                (folder / f"{module}.pc").write_text(f"Name: {module}\nDescription: {module}\nVersion: {version}\n")
            run = subprocess.run(["cmake", "-S", folder, "-B", folder / "build", f"-DSIMCO_QUIC={asked}"],
                                 capture_output=True, text=True, timeout=HANG_LIMIT_S,
                                 env={"PATH": "/usr/bin:/bin", "PKG_CONFIG_LIBDIR": name})
            return run.returncode, " ".join((run.stdout + run.stderr).split())

    def test_versions_that_will_do(self):
        for ngtcp2 in ("0.12.0", "0.12.1", "0.19.1", "1.11.0"):
            for asked in ("AUTO", "ON"):
                status, words = self.configure(asked, dict(zip(MODULES, (ngtcp2, ngtcp2, "3.7.9"))))
                self.assertEqual(status, 0, words)
                self.assertIn("QUIC is a part", words)
                self.assertNotIn("without QUIC", words)

    def test_others_are_named(self):
        for versions, found in (
                (("0.8.1", "0.8.1", "3.7.9"), "libngtcp2 0.8.1, libngtcp2_crypto_gnutls 0.8.1, gnutls 3.7.9"),
                (("0.12.1",), "libngtcp2 0.12.1"),
                ((), "none of them")):
            why = ("QUIC takes ngtcp2 0.12 or later with its helper for GnuTLS, and GnuTLS 3.7.2; there is "
                   + found)
            status, words = self.configure("AUTO", dict(zip(MODULES, versions)))
            self.assertEqual(status, 0, words)
            self.assertIn("Building without QUIC: " + why + " ", words)
            self.assertNotIn("QUIC is a part", words)
            status, words = self.configure("ON", dict(zip(MODULES, versions)))
            self.assertNotEqual(status, 0)
            self.assertIn("SIMCO_QUIC=ON, but " + why, words)

    def test_off_asks_for_nothing(self):
        status, words = self.configure("OFF", {})
        self.assertEqual(status, 0, words)
        self.assertNotIn("QUIC is a part", words)
        self.assertNotIn("ngtcp2", words)


if __name__ == "__main__":
    unittest.main()
