"""Measured costs of kernels: what one process has measured, later ones read; a file that is not whole, or not writable, is named and does
no harm."""

import contextlib
import glob
import json
import os
import tempfile
import unittest
import warnings
from unittest import mock

import torch

import llmmem.torch
from llmmem.torch import _known_costs, _measure


def planned(width=64):
    """Returns the report of a small model, how many kinds of kernels were measured for it, and the warnings."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(width, 256), torch.nn.GELU(), torch.nn.Linear(256, width))
    backend = llmmem.torch.backend("2MB", costs="measured")
    with mock.patch.object(_measure, "measure", wraps=_measure.measure) as measure, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.compile(model, backend=backend)(torch.ones(8, width)).sum().backward()
    asked = sum(len(call.args[0]) for call in measure.call_args_list)
    return backend.reports[0], asked, [str(each.message) for each in caught if "llmmem" in str(each.message)]


class KnownCostsTest(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.enterContext(mock.patch.dict(os.environ, XDG_CACHE_HOME=self.folder))

    def file(self):
        (path,) = glob.glob(f"{self.folder}/llmmem/torch/*")
        return path

    def test_a_second_process_measures_nothing(self):
        first, asked, said = planned()
        self.assertGreater(asked, 5)
        again, none, _ = planned()
        self.assertEqual((0, []), (none, said))
        self.assertEqual([(op.cost, op.workspace) for op in first.problem.ops], [(op.cost, op.workspace) for op in again.problem.ops])
        self.assertEqual(first.plan.steps, again.plan.steps)
        with open(self.file()) as file:
            data = json.load(file)
        self.assertEqual((asked, torch.__version__), (len(data["kernels"]), data["torch"]))

    def test_other_shapes_are_added(self):
        _, asked, _ = planned()
        _, more, _ = planned(96)
        self.assertGreater(more, 0)
        with open(self.file()) as file:
            self.assertEqual(asked + more, len(json.load(file)["kernels"]))

    def test_devices_have_files_of_their_own(self):
        _, asked, _ = planned()
        with mock.patch.object(_known_costs, "_processor", return_value="another processor"):
            _, more, _ = planned()
        self.assertEqual(asked, more)
        self.assertEqual(2, len(glob.glob(f"{self.folder}/llmmem/torch/*.json")))

    def test_a_file_that_is_not_whole_is_named_and_written_anew(self):
        _, asked, _ = planned()
        with open(self.file()) as file:
            whole = file.read()
        other = json.dumps({**json.loads(whole), "device": "another"})
        negative = json.dumps({**json.loads(whole), "kernels": {"a": [-1, 0]}})
        for text in (whole[:-20], "[]", '{"kernels": {}}', other, negative):
            with self.subTest(text=text[:30]):
                with open(self.file(), "w") as file:
                    file.write(text)
                _, again, said = planned()
                self.assertEqual(asked, again)
                self.assertEqual(1, len(said))
                self.assertIn(self.file(), said[0])
                self.assertIn("the costs of kernels in it are not used", said[0])
                with open(self.file()) as file:
                    self.assertEqual(asked, len(json.load(file)["kernels"]))

    def test_a_folder_that_cannot_be_written_does_no_harm(self):
        with contextlib.suppress(FileExistsError):
            os.symlink("/proc/none", f"{self.folder}/llmmem")
        report, asked, said = planned()
        self.assertGreater(asked, 0)
        self.assertGreater(report.base_cost, 0)
        self.assertIn("are measured anew by the next process", said[0])

    def test_a_key_with_an_address_has_no_name(self):
        self.assertIsNone(_known_costs._name_of(("op", planned)))
        self.assertIsNotNone(_known_costs._name_of((torch.ops.aten.mm.default, (8, torch.float32, torch.device("cpu")))))


if __name__ == "__main__":
    unittest.main()
