"""Puts the C library's header into the package: the binding is made from it when it is imported."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent


class BuildWithHeader(build_py):
    def run(self):
        super().run()
        shutil.copy(HERE.parent / "c" / "simco" / "agent.h", Path(self.build_lib) / "simco" / "agent.h")


setup(cmdclass={"build_py": BuildWithHeader})
