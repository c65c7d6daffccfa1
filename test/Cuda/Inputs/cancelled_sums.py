"""Judges ops after a product whose terms cancel by benchmarks/op_reference.py: cancelled_sums.py SCRIPTS

1000 + 1e-6 - 1000 is 0 in f32, and so are its gelu and what a gelu's gradient makes of it.
"""
import sys

import numpy

sys.path.insert(0, sys.argv[1])
import op_reference

X, ONES = numpy.array([[1000.0, 1e-6, -1000.0]]), numpy.ones((3, 1))
GELU = "linear+gelu(1x3xbf16, 3x1xbf16, 1xbf16) -> 1x1xbf16 * 2 [linear 0 1 2 {layout = 0 : i32}; gelu 3]"
GRAD = "linear+gelu_grad(1x3xbf16, 3x1xbf16, 1x1xbf16) -> 1x1xbf16 [linear 0 1 {layout = 0 : i32}; gelu_grad 2 3]"

for text, yields, beside in ((GELU, [3, 4], numpy.zeros(1)), (GRAD, [4], numpy.ones((1, 1)))):
    key = op_reference.Key(text)
    for found in (0.0, 0.5):
        errors = [float((abs(found - value) / allowed).max())
                  for value, allowed in op_reference.compute(numpy, key, yields, [X, ONES, beside])]
        print(key.kind, "as", found, *("right" if error < 1 else "wrong" for error in errors))
