"""Models of transformers keep their budgets as measured, whatever they return: at the least bytes and half way to those of the unplanned
step. Under the eager compiler the prediction is the measured peak to the byte, and all bits are those of the unplanned step."""

import unittest
from typing import Callable, Iterable

from zoo import MODELS
from zoo_steps import Line, measure_all

# Their graphs break. The first step takes the least bytes, and then the parts are planned together; what PyTorch runs between them is not
# seen.
SEVERAL_GRAPHS = ("gpt2", "llama-lora-bf16", "mixtral", "mixtral-grouped", "llava")
# Its sixteen calls leave little between the least of a step and what the step takes unplanned, and the bound of a first step, whose backwards may
# come in any order, is above both.
MANY_CALLS = ("qwen2-vl",)
# llmmem.torch.compile sees what runs between graphs. It records a step before, which takes as long as several.
WHOLE_STEPS = ("mixtral", "llava")
# Generating and compiling code takes several times as long, so Inductor runs one of each kind: text, experts, pictures.
OF_INDUCTOR = ("llama", "qwen3-moe", "vit")


class ZooTest(unittest.TestCase):
    def check(self, names: Iterable[str], compiler: str, check_line: Callable[[Line], None], is_whole: bool = False,
              budget: str = "half") -> None:
        for lines in measure_all(names, compiler, (budget,), is_whole=is_whole):
            for line in lines:
                print(line)
                with self.subTest(model=line.model, budget=line.budget):
                    check_line(line)

    def check_promise(self, line: Line) -> None:
        self.assertIsNone(line.error)
        self.assertFalse(line.has_several_graphs)
        self.assertLessEqual(line.promised, line.bytes)
        self.assertLessEqual(line.measured, line.promised)

    def check_prediction(self, line: Line) -> None:
        self.check_promise(line)
        self.assertTrue(line.has_bits)
        # Where sizes are symbols, numbers become tensors that live for the forward alone, and count throughout.
        if MODELS[line.model].dynamic is None:
            self.assertEqual(line.measured, line.promised)

    def check_shared_budget(self, line: Line) -> None:
        self.assertIsNone(line.error)
        self.assertTrue(line.has_bits)
        self.assertFalse(line.is_over)
        # No report says that it counts as kept, but it does hold here: what a model holds itself counts, and little runs between its graphs.
        self.assertLessEqual(line.measured, line.promised)

    def test_one_graph(self) -> None:
        self.check([name for name in MODELS if name not in (*SEVERAL_GRAPHS, *MANY_CALLS)], "eager", self.check_prediction)

    def test_several_graphs(self) -> None:
        self.check(SEVERAL_GRAPHS, "eager", self.check_shared_budget)

    def test_many_calls(self) -> None:
        self.check(MANY_CALLS, "eager", self.check_shared_budget, budget="loose")

    def test_whole_steps(self) -> None:
        self.check(WHOLE_STEPS, "eager", self.check_shared_budget, is_whole=True)

    def test_inductor(self) -> None:
        self.check(OF_INDUCTOR, "inductor", self.check_promise)


if __name__ == "__main__":
    unittest.main()
