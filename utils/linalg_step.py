#!/usr/bin/env python3
"""Prints a training step in linalg: linalg_step.py [--layers N] [--batch N] [--width N]

h = tanh(h w) for each layer, the mean of (h - t)^2, the backward and w = w - 0.1 g, written as a stranger would: matmuls and
generics with destinations, transposes as indexing maps, parameters that may be overwritten (`bufferization.writable`). Nothing
of llmmem stands in it.
"""

import argparse


class Writer:
    def __init__(self, batch, width):
        self.x = f"tensor<{batch}x{width}xf32>"
        self.w = f"tensor<{width}x{width}xf32>"
        self.lines = []
        self.values = 0

    def emit(self, text):
        self.values += 1
        self.lines.append(f"  %{self.values} = {text}")
        return f"%{self.values}"

    def empty(self, kind):
        return self.emit(f"tensor.empty() : {kind}")

    def elementwise(self, body, kind, *inputs):
        """Writes an elementwise op. `body` computes %r of %a, %b and %c, the elements of the inputs."""
        names = [f"%{name}: f32" for name in "abc"[:len(inputs)]]
        out = self.empty(kind)
        maps = ", ".join(["#id"] * (len(inputs) + 1))
        return self.emit(
            f"linalg.generic {{indexing_maps = [{maps}], iterator_types = [\"parallel\", \"parallel\"]}} "
            f"ins({', '.join(inputs)} : {', '.join([kind] * len(inputs))}) outs({out} : {kind}) {{\n"
            f"  ^bb0({', '.join(names)}, %out: f32):\n    {body}\n    linalg.yield %r : f32\n  }} -> {kind}")

    def product(self, maps, kind, a, a_kind, b, b_kind):
        zeros = self.emit(f"linalg.fill ins(%zero : f32) outs({self.empty(kind)} : {kind}) -> {kind}")
        return self.emit(f"linalg.matmul indexing_maps = [{maps}] ins({a}, {b} : {a_kind}, {b_kind}) outs({zeros} : {kind}) -> {kind}")

    def mean(self, squares, count):
        zero = self.emit("linalg.fill ins(%zero : f32) outs(" + self.empty("tensor<f32>") + " : tensor<f32>) -> tensor<f32>")
        total = self.emit(f"linalg.reduce ins({squares} : {self.x}) outs({zero} : tensor<f32>) dimensions = [0, 1]\n"
                          "    (%a: f32, %sum: f32) {\n      %r = arith.addf %a, %sum : f32\n      linalg.yield %r : f32\n    }")
        out = self.empty("tensor<f32>")
        return self.emit(
            f"linalg.generic {{indexing_maps = [#scalar, #scalar], iterator_types = []}} ins({total} : tensor<f32>) outs({out} : tensor<f32>) {{\n"
            f"  ^bb0(%a: f32, %out: f32):\n    %count = arith.constant {float(count)} : f32\n    %r = arith.divf %a, %count : f32\n"
            f"    linalg.yield %r : f32\n  }} -> tensor<f32>")


def step(layers, batch, width):
    out = Writer(batch, width)
    hidden = ["%x"]
    for layer in range(layers):
        product = out.product("#mk, #kn, #mn", out.x, hidden[-1], out.x, f"%w{layer}", out.w)
        hidden.append(out.elementwise("%r = math.tanh %a : f32", out.x, product))
    squares = out.elementwise("%d = arith.subf %a, %b : f32\n    %r = arith.mulf %d, %d : f32", out.x, hidden[-1], "%t")
    loss = out.mean(squares, batch * width)
    scale = 2.0 / (batch * width)
    dy = out.elementwise(f"%d = arith.subf %a, %b : f32\n    %scale = arith.constant {scale:.17e} : f32\n"
                         "    %r = arith.mulf %d, %scale : f32", out.x, hidden[-1], "%t")
    updated = [""] * layers
    for layer in reversed(range(layers)):
        dy = out.elementwise("%one = arith.constant 1.0 : f32\n    %s = arith.mulf %b, %b : f32\n    %f = arith.subf %one, %s : f32\n"
                             "    %r = arith.mulf %a, %f : f32", out.x, dy, hidden[layer + 1])
        dw = out.product("#km, #kn, #mn", out.w, hidden[layer], out.x, dy, out.x)
        if layer > 0:
            dy = out.product("#mk, #nk, #mn", out.x, dy, out.x, f"%w{layer}", out.w)
        updated[layer] = out.elementwise("%rate = arith.constant 0.1 : f32\n    %s = arith.mulf %b, %rate : f32\n"
                                         "    %r = arith.subf %a, %s : f32", out.w, f"%w{layer}", dw)
    parameters = ", ".join(f"%w{layer}: {out.w} {{bufferization.writable = true}}" for layer in range(layers))
    kinds = ", ".join([out.w] * layers)
    print("#id = affine_map<(i, j) -> (i, j)>\n#scalar = affine_map<() -> ()>")
    for name, dims in (("mk", "i, k"), ("km", "k, i"), ("kn", "k, j"), ("nk", "j, k"), ("mn", "i, j")):
        print(f"#{name} = affine_map<(i, j, k) -> ({dims})>")
    print(f"func.func @step({parameters}, %x: {out.x}, %t: {out.x}) -> ({kinds}, tensor<f32>) {{")
    print("  %zero = arith.constant 0.0 : f32")
    print("\n".join(out.lines))
    print(f"  return {', '.join(updated)}, {loss} : {kinds}, tensor<f32>\n}}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name, default in (("layers", 4), ("batch", 64), ("width", 32)):
        parser.add_argument("--" + name, type=int, default=default)
    options = parser.parse_args()
    step(options.layers, options.batch, options.width)


if __name__ == "__main__":
    main()
