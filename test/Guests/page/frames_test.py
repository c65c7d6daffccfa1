"""llmmem.study as a frame of pandas and as figures of matplotlib."""

import os
import tempfile
import unittest

import matplotlib

import llmmem
from page_test import BIN, make_problem

matplotlib.use("Agg")


class FramesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.environ["PATH"] = BIN + os.pathsep + os.environ["PATH"]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "problem.json")
            with open(path, "w", encoding="utf-8") as file:
                file.write(make_problem().to_json())
            cls.study = llmmem.study(path, budgets=4)

    def test_a_row_for_each_point(self):
        frame = self.study.frame
        self.assertEqual(len(self.study.points), len(frame))
        self.assertEqual([point["needed"] for point in self.study.points], list(frame["needed"]))
        self.assertEqual("Int64", str(frame["needed"].dtype))

    def test_more_bytes_never_cost_more(self):
        frame = self.study.frame
        plans = frame[frame["policy"] == "budget"].sort_values("budget")
        self.assertEqual(4, len(plans))
        self.assertTrue((plans["time_ns"].diff().dropna() <= 0).all())
        self.assertTrue((plans["time_ns"] >= plans["time_lower_bound_ns"]).all())

    def test_frontier_draws_the_points(self):
        axes = self.study.frontier()
        drawn = {(x, y) for line in axes.get_lines() for x, y in zip(line.get_xdata(), line.get_ydata())}
        for point in self.study.points:
            self.assertIn((point["needed"] / 1e9, point["time_ns"]), drawn)

    def test_timeline_reaches_the_peak(self):
        point = next(it for it in self.study.points if it["policy"] == "none")
        axes = self.study.timeline("none")
        top = max(path.vertices[:, 1].max() for stack in axes.collections for path in stack.get_paths())
        self.assertAlmostEqual(point["peak"] / 1e9, top)
        with self.assertRaisesRegex(ValueError, "there is no plan 'nonesuch'; expected "):
            self.study.timeline("nonesuch")

    def test_refuses_what_cannot_be(self):
        with self.assertRaisesRegex(ValueError, "no whole number from 1 up"):
            llmmem.study("config.json", batch=0, seq=8)


if __name__ == "__main__":
    unittest.main()
