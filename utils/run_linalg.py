#!/usr/bin/env python3
"""Runs a step of linalg by mlir-runner, planned and unplanned, and compares the bits of every result.

    run_linalg.py STEP.mlir [--budget BYTES]... [--entry NAME] [--llmmem-opt FILE] [--scale NUMBER]

Unplanned is MLIR's own one-shot bufferization. Planned is `llmmem-opt --arena-bufferize` under each budget (none: every value
kept; min: the least; half: between them), in an arena of exactly the planned bytes with a guard after it. Both get the same arguments, and go
through the same lowering; elided constants are filled, always alike. A step of tosa becomes one of linalg first, by MLIR's own passes; what
it calls and nobody defines (clocks) does nothing. The arena is filled with a pattern; printed are its bytes as planned, as touched, whether the guard
is whole, how many ops run again, and whether a hash of each result's bits is that of the unplanned step. Exit code 1 where bits
or bytes differ, 2 where there is no plan.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GUARD = 4096
INTS = {"f64": "i64", "f32": "i32", "f16": "i16", "bf16": "i16"}
ONE_SHOT = ("--one-shot-bufferize=bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map "
            "allow-return-allocs-from-loops")
# A step of tosa becomes one of linalg before it is planned: so what runs planned and unplanned is the same.
TOSA = ("builtin.module(func.func(tosa-infer-shapes,tosa-make-broadcastable,tosa-to-linalg-named,tosa-layerwise-constant-fold,"
        "tosa-make-broadcastable),inline,func.func(tosa-to-linalg,tosa-to-arith,tosa-to-tensor),canonicalize,cse,symbol-dce)")
LOWERING = ["--symbol-dce", "--convert-linalg-to-loops", "--expand-strided-metadata", "--lower-affine", "--convert-scf-to-cf", "--arith-expand",
            "--convert-math-to-llvm", "--convert-math-to-libm", "--finalize-memref-to-llvm", "--convert-arith-to-llvm",
            "--convert-index-to-llvm", "--convert-vector-to-llvm", "--convert-func-to-llvm", "--convert-cf-to-llvm",
            "--reconcile-unrealized-casts"]


def find(name):
    found = shutil.which(name + "-22") or shutil.which(name) or shutil.which(name, path="/usr/lib/llvm-22/bin")
    if not found:
        sys.exit(f"run_linalg.py: {name} of LLVM 22 is not here; install mlir-22-tools")
    return found


def run(command, text=None, code=1):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode:
        print(done.stderr[:2000], file=sys.stderr)
        sys.exit(done.returncode if code is None else code)
    return done.stdout, done.stderr


class Memref:
    """A type memref<2x3xf32, layout>."""

    def __init__(self, text):
        self.text = text
        extents, self.element = re.match(r"memref<((?:\d+x)*)([^,>]+)", text).groups()
        self.extents = [int(extent) for extent in extents.split("x")[:-1]]
        self.count = 1
        for extent in self.extents:
            self.count *= extent


def split_types(text):
    """Returns the types of a list, each with its own brackets."""
    parts, depth, begin = [], 0, 0
    for at, char in enumerate(text):
        depth += (char in "<([{") - (char in ">)]}")
        if char == "," and depth == 0:
            parts.append(text[begin:at])
            begin = at + 1
    return [part.strip() for part in [*parts, text[begin:]] if part.strip()]


def signature(text, name):
    """Returns the types of the arguments and results of a function on memrefs."""
    begin = re.search(rf"func\.func @{re.escape(name)}\(", text).end()
    depth, end = 1, begin
    while depth:
        depth += (text[end] == "(") - (text[end] == ")")
        end += 1
    arguments = [re.sub(r"\s*\{.*", "", part.split(":", 1)[1].strip()) for part in split_types(text[begin:end - 1])]
    results = re.match(r"\s*(?:->\s*(\(.*?\)|[^\s{]+(?:, strided<[^>]*>>)?))?\s*(?:attributes|\{)", text[end:]).group(1) or "()"
    return arguments, split_types(results.strip("()") if results.startswith("(") else results)


class Main:
    """Returns the text of a @main that fills arguments, calls the step, and prints hashes of its results."""

    def __init__(self, scale):
        self.scale = scale
        self.lines = []
        self.names = 0

    def emit(self, text):
        self.names += 1
        self.lines.append(f"    %v{self.names} = {text}")
        return f"%v{self.names}"

    def loop(self, kind, body, carried=""):
        """Emits a loop nest. `body` gets the indices of an element; `carried` is a number that goes through the loops."""
        indices = []
        for extent in kind.extents:
            end = self.emit(f"arith.constant {extent} : index")
            index = f"%i{self.names}"
            indices.append(index)
            if carried:
                inner = f"%h{self.names}"
                self.emit(f"scf.for {index} = %c0 to {end} step %c1 iter_args({inner} = {carried}) -> (i64) {{")
                carried = inner
            else:
                self.lines.append(f"    scf.for {index} = %c0 to {end} step %c1 {{")
        value = body(indices, carried)
        opened = [line.split(" = ")[0].strip() for line in self.lines if "iter_args(" in line][-len(indices):] if carried else []
        for outer in reversed(range(len(indices))):
            if carried:
                self.lines.append(f"    scf.yield {value} : i64")
                value = opened[outer]
            self.lines.append("    }")
        return value

    def argument(self, number, text):
        if not text.startswith("memref"):
            return self.emit(f"arith.constant {'0.5' if text.startswith(('f', 'bf')) else '1'} : {text}")
        kind = Memref(text)
        memref = self.emit(f"memref.alloc() {{alignment = 64 : i64}} : {text}")

        def write(indices, _):
            at = self.emit(f"arith.constant {977 * (number + 1)} : i64")
            for index in indices:
                prime = self.emit("arith.constant 6364136223846793005 : i64")
                more = self.emit(f"arith.index_cast {index} : index to i64")
                at = self.emit(f"arith.addi {self.emit(f'arith.muli {at}, {prime} : i64')}, {more} : i64")
            mixed = self.emit(f"arith.muli {at}, {self.emit('arith.constant 2862933555777941757 : i64')} : i64")
            high = self.emit(f"arith.shrui {mixed}, {self.emit('arith.constant 41 : i64')} : i64")  # 23 bits
            self.lines.append(f"    memref.store {self.number(high, kind)}, {memref}[{', '.join(indices)}] : {text}")

        self.loop(kind, write)
        return memref

    def number(self, bits, kind):
        element = kind.element
        if element == "index":
            return self.emit(f"arith.index_cast {self.emit(f'arith.andi {bits}, %seven : i64')} : i64 to index")
        if element not in INTS:
            low = self.emit(f"arith.andi {bits}, %{'one' if element == 'i1' else 'seven'} : i64")
            return low if element == "i64" else self.emit(f"arith.trunci {low} : i64 to {element}")
        # Numbers lie from -scale to scale; a single number, such as an epsilon, is above 0.
        real = self.emit(f"arith.uitofp {bits} : i64 to f64")
        span = self.emit(f"arith.constant {2 * self.scale / 2**23:.17e} : f64")
        low = self.emit(f"arith.constant {0.0 if kind.count == 1 else -self.scale:.17e} : f64")
        wide = self.emit(f"arith.addf {self.emit(f'arith.mulf {real}, {span} : f64')}, {low} : f64")
        return wide if element == "f64" else self.emit(f"arith.truncf {wide} : f64 to {element}")

    def hash(self, value, text):
        kind = Memref(text)

        def mix(indices, carried):
            read = self.emit(f"memref.load {value}[{', '.join(indices)}] : {text}")
            bits = INTS.get(kind.element, kind.element)
            if kind.element in INTS:
                read = self.emit(f"arith.bitcast {read} : {kind.element} to {bits}")
            if kind.element == "index":
                read = self.emit(f"arith.index_cast {read} : index to i64")
            elif bits != "i64":
                read = self.emit(f"arith.extui {read} : {bits} to i64")
            return self.emit(f"arith.muli {self.emit(f'arith.xori {carried}, {read} : i64')}, %prime : i64")

        return self.loop(kind, mix, "%basis")

    def arena(self, size):
        whole = Memref(f"memref<{size + GUARD}xi8>")
        memory = self.emit(f"memref.alloc() {{alignment = 256 : i64}} : {whole.text}")
        self.loop(whole, lambda indices, _: self.lines.append(
            f"    memref.store {self.pattern(indices[0])}, {memory}[{indices[0]}] : {whole.text}"))
        return memory, whole, self.emit(f"memref.view {memory}[%c0][] : {whole.text} to memref<{size}xi8>")

    def pattern(self, index):
        wide = self.emit(f"arith.index_cast {index} : index to i64")
        mixed = self.emit(f"arith.muli {wide}, {self.emit('arith.constant 2862933555777941757 : i64')} : i64")
        high = self.emit(f"arith.shrui {mixed}, {self.emit('arith.constant 53 : i64')} : i64")
        return self.emit(f"arith.trunci {high} : i64 to i8")

    def touched(self, memory, whole):
        """Returns the index after the last byte that differs from the pattern."""
        def last(indices, carried):
            read = self.emit(f"memref.load {memory}[{indices[0]}] : {whole.text}")
            differs = self.emit(f"arith.cmpi ne, {read}, {self.pattern(indices[0])} : i8")
            behind = self.emit(f"arith.addi {self.emit(f'arith.index_cast {indices[0]} : index to i64')}, %one : i64")
            return self.emit(f"arith.select {differs}, {behind}, {carried} : i64")

        return self.loop(whole, last, "%zero")

    def text(self, name, arguments, results, arena):
        given = [self.argument(number, kind) for number, kind in enumerate(arguments[:-1] if arena else arguments)]
        if arena:
            memory, whole, view = self.arena(Memref(arguments[-1]).count)
            given.append(view)
        self.names += 1
        call = f"%r{self.names}"
        bound = f"{call}:{len(results)} = " if results else ""
        self.lines.append(f"    {bound}func.call @{name}({', '.join(given)}) : ({', '.join(arguments)}) -> ({', '.join(results)})")
        for number, kind in enumerate(results):
            shown = f"{call}#{number}"
            self.lines.append(f"    vector.print {self.hash(shown, kind) if kind.startswith('memref') else shown} : "
                              f"{'i64' if kind.startswith('memref') else kind}")
        if arena:
            self.lines.append(f"    vector.print {self.touched(memory, whole)} : i64")
        constants = ["%c0 = arith.constant 0 : index", "%c1 = arith.constant 1 : index"]
        constants += [f"%{name} = arith.constant {value} : i64" for name, value in (
            ("zero", 0), ("one", 1), ("seven", 7), ("basis", -3750763034362895579), ("prime", 1099511628211))]
        return "  func.func @main() {\n    " + "\n    ".join(constants) + "\n" + "\n".join(self.lines) + "\n    return\n  }\n"


def fill_elided(text):
    """Gives elided constants values, a different one for each tensor. Integers are 0, as an index may be."""
    count = 0

    def fill(match):
        nonlocal count
        count += 1
        element = re.match(r"(?:\d+x)*(\w+)", match.group(1)).group(1)
        return f"dense<{0.01 * (1 + count % 7):.2f}> : tensor<{match.group(1)}>" if element in INTS else f"dense<0> : tensor<{match.group(1)}>"

    return re.sub(r"dense(?:_resource<__elided__>|<\.\.\.>|<\"0x\.\.\.\">) : tensor<([^>]*)>", fill, text)


def define_missing(text):
    """Defines functions on numbers and pointers that are only declared, as clocks are: they do nothing and return 0."""
    def define(match):
        name, arguments, result = match.group(1), match.group(2), (match.group(3) or "()").strip()
        if "tensor" in match.group(0) or "memref" in match.group(0):
            return match.group(0)
        given = ", ".join(f"%a{number}: {kind}" for number, kind in enumerate(split_types(arguments)))
        if result == "()":
            return f"func.func private @{name}({given}) {{\n    return\n  }}"
        zero = "0.0" if result.startswith(("f", "bf")) else "0"
        return f"func.func private @{name}({given}) -> {result} {{\n    %z = arith.constant {zero} : {result}\n    return %z : {result}\n  }}"

    return re.sub(r"func\.func private @(\w+)\(([^)\n]*)\)(?: -> (\S+))?(?=[ \t]*\n)", define, text)


class Runner:
    def __init__(self, options):
        self.options = options
        self.opt = find("mlir-opt")
        self.runner = find("mlir-runner")
        library = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(self.runner))), "lib")
        self.libraries = ",".join(os.path.join(library, f"libmlir_{part}_utils.so") for part in ("c_runner", "runner", "float16"))

    def numbers(self, module, name, arena):
        """Returns what @main prints, and the bytes of the arena."""
        arguments, results = signature(module, name)
        module = re.sub(rf"func\.func (private )?@{re.escape(name)}\(", f"func.func private @{name}(", module)
        main = Main(self.options.scale).text(name, arguments, results, arena)
        end = module.rindex("}")
        lowered, _ = run([self.opt, *LOWERING], module[:end] + main + module[end:])
        printed, _ = run([self.runner, "-O3", "-e", "main", "-entry-point-result=void", "-shared-libs=" + self.libraries], lowered)
        return [int(float(line)) for line in printed.split()], Memref(arguments[-1]).count if arena else 0

    def prepared(self, text):
        text = define_missing(fill_elided(text))
        return run([self.opt, "--pass-pipeline=" + TOSA], text)[0] if re.search(r"\btosa\.", text) else text

    def entry(self, text):
        return self.options.entry or re.search(r"func\.func (?:public )?@(\w+)", text).group(1)

    def unplanned(self, text):
        # An op without a destination is one that neither bufferizes.
        text, _ = run([self.options.llmmem_opt, "--give-destinations", "-"], text)
        module, _ = run([self.opt, ONE_SHOT, "--canonicalize"], text)
        return self.numbers(module, self.entry(text), arena=False)[0]

    def planned(self, text, budget):
        flags = ["--checkpoint-policy=none"] if budget == "none" else [f"--checkpoint-budget={budget}"]
        with tempfile.TemporaryDirectory() as folder:
            summary = os.path.join(folder, "report.json")
            module, _ = run([self.options.llmmem_opt, "--arena-bufferize", "--memory-report-json=" + summary, "--checkpoint-device=cpu",
                             "--entry=" + self.entry(text), *flags, "-", "-o", os.path.join(folder, "out.mlir")], text, code=None)
            with open(os.path.join(folder, "out.mlir")) as handle:
                module = handle.read()
            with open(summary) as handle:
                report = json.load(handle)
        (*numbers, touched), size = self.numbers(module, self.entry(text), arena=True)
        return numbers, touched, size, report

    def budget(self, text, budget):
        """Returns bytes of `half`; any other budget as it is."""
        if budget != "half":
            return budget
        needs = [needed(self.planned(text, end)[3]) for end in ("none", "min")]
        return str(sum(needs) // 2)


def needed(report):
    """Returns what a budget bounds."""
    return sum(report["resident"].values()) + report["resident_padding"] + report["arena"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("step")
    parser.add_argument("--budget", action="append", help="bytes, none, half or min; several times")
    parser.add_argument("--entry", help="the function that is the step; the first without it")
    parser.add_argument("--llmmem-opt", default=os.path.join(ROOT, "build", "bin", "llmmem-opt"))
    parser.add_argument("--scale", type=float, default=0.5, help="arguments are between -scale and scale")
    options = parser.parse_args()
    with open(options.step) as handle:
        text = handle.read()
    runner = Runner(options)
    text = runner.prepared(text)
    expected = runner.unplanned(text)
    differs = False
    for budget in options.budget or ["none", "min"]:
        numbers, touched, size, report = runner.planned(text, runner.budget(text, budget))
        equal = numbers == expected
        differs |= not equal or touched > size
        print(f"budget {budget}: arena {size} bytes, touched {touched}, {report['recompute']['ops']} ops run again, "
              f"{len(numbers)} results {'equal' if equal else 'DIFFER'}", flush=True)
    sys.exit(1 if differs else 0)


if __name__ == "__main__":
    main()
