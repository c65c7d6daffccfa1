#!/usr/bin/env python3
"""deep-programs.py FOLDER: llmmem-opt is given programs of every kind of nesting, far beyond its limits and just within them.

deep-programs.py KIND COUNT: prints a program of COUNT levels, or of COUNT things that take MLIR's parser more than linear time.
"""

import os
import subprocess
import sys

ATTRIBUTE = "module attributes {{a.b = {}}} {{}}\n"
KINDS = {
    "modules": lambda n: "module {\n" * n + "}\n" * n,
    "regions": lambda n: '"a.b"() ({\n' * n + "}) : () -> ()\n" * n,
    "lists": lambda n: ATTRIBUTE.format("[" * n + "]" * n),
    "dictionaries": lambda n: ATTRIBUTE.format("{a=" * n + "1" + "}" * n),
    "tensors": lambda n: ATTRIBUTE.format("dense<" + "[" * n + "1" + "]" * n + "> : tensor<" + "1x" * n + "i32>"),
    "locations": lambda n: ATTRIBUTE.format("loc(" + '"a"(' * n + '"a"' + ")" * n + ")"),
    "opaque": lambda n: ATTRIBUTE.format("#a.b<" + "<" * n + ">" * n + ">"),
    "tuples": lambda n: "func.func private @f(" + "tuple<" * n + "i1" + ">" * n + ")\n",
    "parentheses": lambda n: ATTRIBUTE.format("affine_map<(d0) -> (" + "(" * n + "d0" + ")" * n + ")>"),
    "signs": lambda n: ATTRIBUTE.format("affine_map<(d0) -> (" + "-" * n + "d0)>"),
    "divisions": lambda n: ATTRIBUTE.format("affine_map<(d0)[s] -> (d0" + " floordiv s" * n + ")>"),
    "aliases": lambda n: "#a0 = [1]\n" + "".join(f"#a{i + 1} = [#a{i}]\n" for i in range(n)) + ATTRIBUTE.format(f"#a{n}"),
    "types": lambda n: "!a0 = tuple<i1>\n" + "".join(f"!a{i + 1} = tuple<!a{i}>\n" for i in range(n)) + f"func.func private @f(!a{n})\n",
    "doubled": lambda n: "#a0 = [1]\n" + "".join(f"#a{i + 1} = [#a{i}, #a{i}]\n" for i in range(n)) + ATTRIBUTE.format(f"#a{n}"),
    "sizes": lambda n: "func.func private @f(tensor<" + "1x" * n + "f32>)\n",
    "dimensions": lambda n: ATTRIBUTE.format("affine_map<(" + ", ".join(f"d{i}" for i in range(n)) + ") -> ()>"),
    "symbols": lambda n: ATTRIBUTE.format("affine_map<(d)[" + ", ".join(f"s{i}" for i in range(n)) + "] -> (d)>"),
}

DEEP, OPERATORS, NAMES = "nested more than 500 levels deep", "more than 1000 operators in one expression", "more than 256 names in a list"
MESSAGES = {"signs": OPERATORS, "divisions": OPERATORS, "dimensions": NAMES, "symbols": NAMES,
            "sizes": "a shape of more than 1000 characters", "doubled": "an alias of more than 1000000 words"}
BEYOND = 60000
# Two brackets a level, an alias that doubles, and names in a list.
WITHIN = {"regions": 240, "locations": 240, "doubled": 15, "dimensions": 250, "symbols": 250}


def start(path, text):
    with open(path, "w") as file:
        file.write(text)
    return subprocess.Popen(["llmmem-opt", "--allow-unregistered-dialect", "--split-input-file", "--canonicalize", "--cse", path],
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def main(folder):
    for kind, program in KINDS.items():
        path = os.path.join(folder, kind + ".mlir")
        tool = start(path, program(BEYOND))
        said = tool.communicate(timeout=60)[1]
        if tool.returncode != 1 or not said.startswith(f"llmmem-opt: {path}:") or MESSAGES.get(kind, DEEP) not in said:
            sys.exit(f"{path}: exit code {tool.returncode}, stderr: {said[:1000]}")
    tool = start(os.path.join(folder, "within.mlir"),
                 "// -----\n".join(program(WITHIN.get(kind, 480)) for kind, program in KINDS.items()))
    said = tool.communicate(timeout=60)[1]
    # A block without a terminator is an error of the verifier, which has then been through all levels.
    if tool.returncode not in (0, 1) or [line for line in said.splitlines() if " error: " in line and "empty block" not in line]:
        sys.exit(f"within.mlir: exit code {tool.returncode}, stderr: {said[:1000]}")


if len(sys.argv) == 2:
    main(sys.argv[1])
else:
    sys.stdout.write(KINDS[sys.argv[1]](int(sys.argv[2])))
