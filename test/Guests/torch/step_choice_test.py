"""The choice of a plan for each call of a step: compared with all choices there are, for steps small enough to try them. And the bytes of a
plan, compared with the planner's own sum."""

import itertools
import random
import unittest
from typing import List

import torch
from torch import nn

import llmmem.torch
from llmmem.torch._curve import caller_bytes, curve_of, plan_within, point_of, resident_bytes
from llmmem.torch._step import Moment, Point, choose, least_budget, peak_of, slack_of


def nested(calls: int, base: int) -> List[Moment]:
    """The forwards of all calls, then their backwards from the newest."""
    moments = [Moment(base, frozenset(range(number)), number) for number in range(calls)]
    moments.append(Moment(base + 3, frozenset(range(calls))))
    return moments + [Moment(base + calls - number, frozenset(range(number + 1)), number, True) for number in reversed(range(calls))]


def in_any_order(calls: int, choice: random.Random) -> List[Moment]:
    moments: List[Moment] = []
    waiting: List[int] = []
    ahead = list(range(calls))
    while ahead or waiting:
        base = choice.randint(0, 5)
        if ahead and (not waiting or choice.random() < 0.5):
            moments.append(Moment(base, frozenset(waiting), ahead[0]))
            waiting.append(ahead.pop(0))
        else:
            number = choice.choice(waiting)
            moments.append(Moment(base, frozenset(waiting), number, True))
            waiting.remove(number)
    return moments


class ChoiceTest(unittest.TestCase):
    def test_no_choice_is_better(self) -> None:
        choice, outcomes = random.Random(1), set()
        for case in range(400):
            calls = choice.randint(1, 4)
            moments = nested(calls, choice.randint(0, 5)) if case % 2 else in_any_order(calls, choice)
            curves = [[Point(choice.randint(1, 9), choice.randint(0, 9), choice.randint(1, 12), choice.randint(1, 20), ())
                       for _ in range(3)] for _ in range(calls)]
            budget = choice.randint(5, 45)
            fitting = [sum(point.cost for point in points) for points in itertools.product(*curves)
                       if peak_of(moments, points) <= budget]
            with self.subTest(case=case):
                made = choose(moments, curves, budget)
                outcomes.add(made is None)
                self.assertEqual(None if made is None else sum(point.cost for point in made), min(fitting, default=None))
                if made is not None:
                    self.assertLessEqual(peak_of(moments, made), budget)
                self.assertEqual(least_budget(moments, curves), min(peak_of(moments, points) for points in itertools.product(*curves)))
        self.assertEqual(outcomes, {True, False})

    def test_what_is_left_for_equal_calls(self) -> None:
        """As many bytes as `slack_of` says fit, and one more does not."""
        moments, point = nested(3, 10), Point(5, 4, 7, 1, ())
        forward, held, backward = slack_of(moments, [point] * 3, frozenset([0, 1]), 40)
        for figures, fits in (((forward, 4, 7), True), ((forward + 1, 4, 7), False), ((5, held, 7), True), ((5, held + 1, 7), False),
                              ((5, 4, backward), True), ((5, 4, backward + 1), False)):
            with self.subTest(figures=figures):
                self.assertEqual(peak_of(moments, [Point(*figures, 1, ())] * 2 + [point]) <= 40, fits)


class PointTest(unittest.TestCase):
    def test_bytes_are_the_planners(self) -> None:
        torch.manual_seed(0)
        model, x = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64), nn.GELU()), torch.randn(32, 64)
        backend = llmmem.torch.backend(None)
        torch.compile(model, backend=backend)(x).sum().backward()
        problem = backend.reports[0].problem
        results, tangents = caller_bytes(problem)
        self.assertEqual((results, tangents), (32 * 64 * 4, 32 * 64 * 4))
        curve = curve_of(problem, 10.0)
        self.assertGreater(len(curve), 1)
        for point in curve:
            need = max(point.forward, point.held + results + tangents, point.backward + results + tangents)
            self.assertEqual(resident_bytes(problem) + need, point.plan.peak)
            self.assertEqual(llmmem.verify(problem, point.plan, None), [])
            self.assertEqual(point_of(problem, point.steps), point)
        slim = min(curve, key=lambda point: point.held)
        # What fits is found again, and what no plan holds is not.
        most = curve[0]
        self.assertEqual(plan_within(problem, (most.forward, most.held, most.backward), 10.0).cost, most.cost)
        self.assertLess(slim.held, most.held)
        self.assertIsNone(plan_within(problem, (most.forward, slim.held - 1, most.backward), 10.0))


if __name__ == "__main__":
    unittest.main()
