"""Which versions of PyTorch llmmem.torch takes, what it says of others, and what it imports."""

import importlib
import os
import subprocess
import sys
import unittest
from unittest import mock

import torch

import llmmem.torch
from llmmem.torch import _private

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "versions")


def numbers(version: str) -> tuple:
    return tuple(map(int, version.split(".")[:2]))


class VersionsTest(unittest.TestCase):
    def test_a_name_that_is_missing(self) -> None:
        modules = {name: module for name, module in sys.modules.items() if not name.startswith("llmmem.torch")}
        with mock.patch.dict(sys.modules, modules, clear=True), mock.patch.object(torch._functorch.partitioners, "_is_primal"):
            del torch._functorch.partitioners._is_primal
            with self.assertRaisesRegex(ImportError, rf"private names of PyTorch, and knows those of 2\.8 to 2\.15; this is "
                                                     rf"{torch.__version__.replace('+', '.')}: pip install 'torch>=2\.8,<2\.16' "
                                                     r"\(.*_is_primal"):
                importlib.import_module("llmmem.torch")
        self.assertIs(sys.modules["llmmem.torch"], llmmem.torch)

    def test_versions_that_are_not_known(self) -> None:
        for version in ("2.7.1", "2.16.0a0+git1234", "3.0.0"):
            with self.subTest(version=version), self.assertRaisesRegex(ImportError, r"knows those of 2\.8 to 2\.15; this is " + version[:3]):
                _private.check_version(version)
        for version in ("2.8.0+cpu", "2.9.1", "2.15.0", torch.__version__):
            _private.check_version(version)

    def test_each_version_with_requirements_is_known(self) -> None:
        tested = [numbers(name[:-4]) for name in os.listdir(FOLDER) if name.endswith(".txt")]
        self.assertEqual(min(tested), _private.OLDEST)
        self.assertLessEqual(max(tested), _private.NEWEST)

    def test_inductor_is_imported_when_it_is_asked_for(self) -> None:
        code = ("import sys, llmmem.torch; llmmem.torch.backend('1GB')\n"
                "print([name for name in ('torch._inductor.compile_fx', 'torch._inductor.scheduler') if name in sys.modules])")
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
        self.assertEqual(result.stdout.strip(), "[]", result.stderr)


if __name__ == "__main__":
    unittest.main()
