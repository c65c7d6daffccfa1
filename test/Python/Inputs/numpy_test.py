"""Numbers and arrays of NumPy in place of Python's."""

import unittest

import llmmem
import numpy
from llmmem import Op, Problem, Value


class Arrays(unittest.TestCase):
    def test_takes_numbers_of_numpy(self):
        lower = numpy.arange(3)
        self.assertEqual(llmmem.pack(lower, lower + 2, numpy.full(3, 4)).arena, 8)
        problem = Problem([Value(numpy.int64(8)), Value(8)], [Op(numpy.array([0]), numpy.array([1]))], keep=[1])
        self.assertEqual(llmmem.plan(problem, numpy.int64(16)).peak, 16)
        with self.assertRaisesRegex(ValueError, "budget: expected whole bytes"):
            llmmem.plan(problem, numpy.float64(16))


if __name__ == "__main__":
    unittest.main()
