#!/usr/bin/env python3
"""A planned step of nothing but updates: updates.py COUNT, of tensors of one length."""

import sys

count, tensor, wide = int(sys.argv[1]), "tensor<4096xbf16>", "tensor<4096xf32>"
arguments, results, names, ops = ["%lr: tensor<f32>", "%step: tensor<i32>"], [], [], []
for i in range(count):
    arguments.append(f"%g{i}: {tensor}")
    for name, kind in ("p", tensor), ("m", wide), ("v", wide), ("w", wide):
        arguments.append(f"%{name}{i}: {kind} {{llm.donated = {len(results)} : i64}}")
        results.append(kind)
        names.append(f"%{name}{i}_new")
    ops.append(f"  {', '.join(names[-4:])} = llm.adamw %p{i}, %g{i}, %m{i}, %v{i}, %lr, %step master(%w{i})\n"
               "    {beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64,\n"
               "     llm.offsets = array<i64: -1, -1, -1, -1>}\n"
               f"    : ({tensor}, {tensor}, {wide}, {wide}, tensor<f32>, tensor<i32>, {wide}) -> ({', '.join(results[-4:])})")
print(f"func.func @step({', '.join(arguments)})\n    -> ({', '.join(results)}) attributes {{llm.arena = 256 : i64}} {{")
print("\n".join(ops))
print(f"  return {', '.join(names)} : {', '.join(results)}\n}}")
