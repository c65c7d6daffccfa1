"""A plan as a memory snapshot, read by PyTorch's own code."""

import os
import pickle
import subprocess
import sys
import tempfile
import unittest

from torch.cuda import _memory_viz

import llmmem

BIN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(os.environ["LLMMEM_LIBRARY"]))), "bin")


class SnapshotTest(unittest.TestCase):
    def setUp(self):
        values = [llmmem.Value(30_000_000, name) for name in ("x", "y", "z")] + [llmmem.Value(50_000_000, "w", resident=True)]
        ops = [llmmem.Op([0, 3], [1], 2000, name="up"), llmmem.Op([1, 3], [2], 2000, name="down")]
        with tempfile.TemporaryDirectory() as folder:
            path, out = os.path.join(folder, "problem.json"), os.path.join(folder, "out")
            with open(path, "w", encoding="utf-8") as file:
                file.write(llmmem.Problem(values, ops, keep=[2]).to_json())
            study = subprocess.run([sys.executable, "-m", "llmmem._study.command", path, "--policies", "none", "--exports", out, "-o",
                                    os.path.join(folder, "study.json")], capture_output=True, text=True,
                                   env=dict(os.environ, PATH=BIN + os.pathsep + os.environ["PATH"]))
            self.assertEqual(study.returncode, 0, study.stderr)
            with open(os.path.join(out, "none.snapshot.pickle"), "rb") as file:
                self.snapshot = pickle.load(file)

    def test_segments_are_what_is_resident_and_the_arena(self):
        said = _memory_viz.segsum(self.snapshot)
        self.assertIn("segments: 2", said)
        self.assertIn("total_allocated: 47.7MiB", said)  # 50 MB of weights

    def test_trace_allocates_and_frees_every_value(self):
        said = _memory_viz.trace(self.snapshot)
        self.assertEqual(2, said.count("cudaMalloc"))
        self.assertEqual(4, said.count("28.6MiB]") + said.count("47.7MiB]"))
        self.assertEqual(3, said.count("free completed"))

    def test_page_takes_it(self):
        self.assertIn("Active Memory Timeline", _memory_viz.trace_plot(self.snapshot))


if __name__ == "__main__":
    unittest.main()
