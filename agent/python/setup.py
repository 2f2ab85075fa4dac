"""Puts the C library's header into the package: the binding is made from it when it is imported. With the library itself
in the package, as build_wheel has it, the wheel is one for this machine, and for every Python 3."""

import shutil
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70.1
    from wheel.bdist_wheel import bdist_wheel

HERE = Path(__file__).resolve().parent


class BuildWithHeader(build_py):
    def run(self):
        super().run()
        shutil.copy(HERE.parent / "c" / "simco" / "agent.h", Path(self.build_lib) / "simco" / "agent.h")


class WithLibrary(Distribution):
    def has_ext_modules(self):
        return (HERE / "simco" / "libsimco-agent.so.0").exists()


class WheelForEveryPython(bdist_wheel):
    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


setup(distclass=WithLibrary, cmdclass={"build_py": BuildWithHeader, "bdist_wheel": WheelForEveryPython})
