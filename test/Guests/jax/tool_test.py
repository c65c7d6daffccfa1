"""Where llmmem.jax finds llmmem-opt: by its name in LLMMEM_OPT, in PATH, or next to the Python that runs, where pip puts the wheel's programs."""

import os
import sys
import tempfile
import unittest
from unittest import mock

from llmmem.jax._tool import find_tool


def put(folder, name):
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write("#!/bin/sh\n")
    os.chmod(path, 0o755)
    return path


class ToolTest(unittest.TestCase):
    def setUp(self):
        self.environment = tempfile.TemporaryDirectory()
        self.elsewhere = tempfile.TemporaryDirectory()
        self.addCleanup(self.environment.cleanup)
        self.addCleanup(self.elsewhere.cleanup)
        for patch in (mock.patch.dict(os.environ, {"PATH": self.elsewhere.name}),
                      mock.patch.object(sys, "executable", os.path.join(self.environment.name, "python3"))):
            patch.start()
            self.addCleanup(patch.stop)
        os.environ.pop("LLMMEM_OPT", None)

    def test_in_an_environment_that_is_not_active(self):
        own = put(self.environment.name, "llmmem-opt")
        self.assertEqual(own, find_tool())
        self.assertEqual(put(self.elsewhere.name, "llmmem-opt"), find_tool())

    def test_by_name(self):
        put(self.environment.name, "llmmem-opt")
        os.environ["LLMMEM_OPT"] = put(self.elsewhere.name, "mine")
        self.assertEqual(os.environ["LLMMEM_OPT"], find_tool())
        os.environ["LLMMEM_OPT"] = "/no/such"
        with self.assertRaisesRegex(FileNotFoundError, "LLMMEM_OPT names '/no/such', which is no program"):
            find_tool()

    def test_nowhere(self):
        with self.assertRaisesRegex(FileNotFoundError, "no llmmem-opt in PATH or next to this Python"):
            find_tool()


if __name__ == "__main__":
    unittest.main()
