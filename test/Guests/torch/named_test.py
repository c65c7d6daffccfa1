"""`torch.compile(model, backend="llmmem", options=...)`, as the entry point of pyproject.toml gives it, and what `mode` and `options`
do with either compiler."""

import os
import re
import sys
import tempfile
import unittest
from typing import Any, List

import torch
from torch._inductor.custom_graph_pass import CustomGraphPass

import llmmem.torch
from models import gpt, is_equal, llama, measure_step, run_step

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


class CountPass(CustomGraphPass):
    """Counts the graphs that Inductor hands it."""

    def __init__(self) -> None:
        self.graphs = 0

    def __call__(self, graph: Any) -> None:
        self.graphs += 1

    def uuid(self) -> None:
        return None


class NamedTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        """A distribution with the entry point of pyproject.toml, as pip leaves it."""
        with open(os.path.join(ROOT, "pyproject.toml")) as file:
            entry = re.search(r"\[project\.entry-points\.torch_dynamo_backends\]\nllmmem = \"(.*)\"", file.read()).group(1)
        cls.folder = tempfile.TemporaryDirectory()
        information = os.path.join(cls.folder.name, "llmmem-0.dist-info")
        os.mkdir(information)
        for name, text in (("METADATA", "Metadata-Version: 2.1\nName: llmmem\nVersion: 0\n"),
                           ("entry_points.txt", f"[torch_dynamo_backends]\nllmmem = {entry}\n")):
            with open(os.path.join(information, name), "w") as file:
                file.write(text)
        sys.path.insert(0, cls.folder.name)

    @classmethod
    def tearDownClass(cls) -> None:
        sys.path.remove(cls.folder.name)
        cls.folder.cleanup()

    def setUp(self) -> None:
        torch._dynamo.reset()
        torch.manual_seed(0)
        self.model, self.ids = gpt(layers=2), torch.randint(0, 256, (2, 64), generator=torch.Generator().manual_seed(1))
        self.reports: List[llmmem.torch.Report] = []

    def compile(self, backend: Any = "llmmem", **arguments: Any) -> Any:
        return torch.compile(self.model, backend=backend, **arguments)

    def test_the_name_gives_the_plan_of_the_backend(self) -> None:
        backend = llmmem.torch.backend("min")
        known = run_step(self.model, backend, self.ids, self.ids)
        torch._dynamo.reset()
        step = self.compile(options={"budget": "min", "on_report": self.reports.append})
        named = measure_step(self.model, step, self.ids, self.ids)
        self.assertEqual([report.peak for report in self.reports], [backend.reports[0].peak])
        self.assertEqual(named.peak, known.peak)
        self.assertTrue(is_equal(named, known))

    def test_each_compiled_model_has_its_own_budget(self) -> None:
        """Equal options of two models are two budgets."""
        for make in (gpt, llama):
            self.model = make(layers=2)
            self.compile(options={"budget": "20MB", "on_report": self.reports.append})(self.ids, self.ids).backward()
        self.assertEqual(len(self.reports), 2)
        self.assertEqual([report.is_one_of_several for report in self.reports], [False, False])

    def test_a_budget_is_asked_for(self) -> None:
        for options in (None, {"compiler": "inductor"}):
            with self.subTest(options=options), self.assertRaisesRegex(Exception, "needs a budget: torch.compile.*\"20GB\""):
                self.compile(options=options)(self.ids, self.ids)

    def test_the_eager_compiler_refuses_what_it_ignores(self) -> None:
        for arguments in ({"mode": "max-autotune"}, {"options": {"max_autotune": True}}):
            with self.subTest(**arguments), self.assertRaisesRegex(Exception, "would ignore this; give compiler=\"inductor\""):
                self.compile(llmmem.torch.backend("min"), **arguments)(self.ids, self.ids)
        with self.assertRaisesRegex(Exception, "'budegt'.*would ignore this"):
            self.compile(options={"budget": "min", "budegt": 1})(self.ids, self.ids)

    def test_options_reach_inductor(self) -> None:
        count = CountPass()
        self.compile(options={"budget": "20MB", "compiler": "inductor", "post_grad_custom_post_pass": count})(self.ids, self.ids)
        self.assertEqual(count.graphs, 2)
        with self.assertRaisesRegex(Exception, "Unexpected optimization option no_such_option"):
            self.compile(llmmem.torch.backend("min", compiler="inductor"), options={"no_such_option": 1})(self.ids, self.ids)

    def test_a_mode_keeps_the_budget(self) -> None:
        """torch.compile takes either `mode` or `options`, so the name takes `mode` as one of its options."""
        mode = "max-autotune-no-cudagraphs"
        for arguments in ({"backend": llmmem.torch.backend("1.9MB", compiler="inductor"), "mode": mode},
                          {"options": {"budget": "1.9MB", "compiler": "inductor", "mode": mode}}):
            torch._dynamo.reset()
            with self.subTest(**arguments):
                measured = measure_step(self.model, self.compile(**arguments), self.ids, self.ids)
                self.assertLessEqual(measured.peak, 1_900_000)
        with self.assertRaisesRegex(Exception, "mode='max-autotune'.*would ignore this"):
            self.compile(options={"budget": "min", "mode": "max-autotune"})(self.ids, self.ids)

    def test_options_that_move_what_was_counted_are_refused(self) -> None:
        for option in ("memory_planning", "allow_buffer_reuse", "reorder_for_peak_memory", "layout_optimization"):
            torch._dynamo.reset()
            with self.subTest(option=option), self.assertRaisesRegex(Exception, f"'{option}' would reorder or pool"):
                self.compile(llmmem.torch.backend("min", compiler="inductor"), options={option: True})(self.ids, self.ids)


if __name__ == "__main__":
    unittest.main()
