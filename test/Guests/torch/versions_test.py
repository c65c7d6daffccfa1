"""Another version of PyTorch may lack a private name that llmmem.torch uses: the error says so, and which versions are known."""

import importlib
import sys
import unittest
from unittest import mock

import torch

import llmmem.torch


class VersionsTest(unittest.TestCase):
    def test_a_name_that_is_missing(self) -> None:
        modules = {name: module for name, module in sys.modules.items() if not name.startswith("llmmem.torch")}
        with mock.patch.dict(sys.modules, modules, clear=True), mock.patch.object(torch.fx.graph, "_BoxedCodeGen"):
            del torch.fx.graph._BoxedCodeGen
            with self.assertRaisesRegex(ImportError, rf"private names of PyTorch, and knows those of 2\.15; this is "
                                                     rf"{torch.__version__.replace('+', '.')}: .*_BoxedCodeGen"):
                importlib.import_module("llmmem.torch")
        self.assertIs(sys.modules["llmmem.torch"], llmmem.torch)


if __name__ == "__main__":
    unittest.main()
