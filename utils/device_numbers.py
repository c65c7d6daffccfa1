#!/usr/bin/env python3
"""Finds numbers of devices in code, which belong into lib/Device/Tables: utils/device_numbers.py [ROOT]

  a number of a table    a literal that the table of a GPU states, as such (989000), in other units (989e12), or as a shift (227 << 10)
  a quantity of a device a name such as multiprocessors or bytes_per_ns that is given a literal, or a Device that is made of literals

Numbers with fewer than three significant digits, round ones and powers of two belong to many things, so only a name shows them to be a
device's. Comments and texts may give examples.
"""

import io
import json
import math
import os
import re
import subprocess
import sys
import tokenize

OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDERS = ("lib/", "include/", "tools/", "python/", "benchmarks/", "utils/")
# The GPUs that kernels are written for and measured on. A size of another card, such as 768, is also a width.
GPUS = ("h100", "h200", "a100")
LITERAL = r"(?:0x[0-9a-f]+|(?:\d[\d_']*\.?\d*|\.\d+)(?:e[+-]?\d+)?)"
NUMBER = re.compile(rf"(?<![\w.])({LITERAL})[ulf]*(?:\s*<<\s*(\d+))?(?![\w.])", re.I)
QUANTITY = "multiprocessor|flopsper|bytesperns|bytespercycle|bytespercloc|tflops|bandwidth|maxshared|mostshared|sharedbytesofblock|l2bytes|peakflop|launchns"
ASSIGNED = re.compile(rf"\b([\w, ]+?)\s*(?:=|\{{)\s*(?:\(\s*)?(?:{LITERAL}[ulf]*(?:\s*<<\s*\d+)?\s*,\s*)*({LITERAL})", re.I)
PLAIN = re.compile(r'R"(\w*)\(.*?\)\1"|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.S)


def value_of(literal, shift=None):
    digits = literal.replace("_", "").replace("'", "")
    number = int(digits, 16) if digits.lower().startswith("0x") else float(digits)
    return number * 2.0 ** int(shift or 0)


def is_distinctive(number):
    digits = f"{number:.6g}".replace(".", "").lstrip("0").split("e")[0].rstrip("0")
    return number > 0 and len(digits) >= 3 and not math.log2(number).is_integer()


def numbers_of(table):
    """(key, number) of what a table says of its GPU, in every unit in which code may say it."""
    gpu = table["gpu"]
    stated = [*table["flops_per_ns"].items(), ("bytes_per_ns", table["bytes_per_ns"]), *gpu.items(), *gpu["per_clock"].items()]
    for key, number in stated:
        if isinstance(number, (int, float)):
            yield from ((key, number * scale) for scale in (1, 1e-3, 1e3, 1e6, 1e9) if is_distinctive(number * scale))


def known_numbers():
    known = {}
    for name in GPUS:
        with open(os.path.join(OWN, "lib", "Device", "Tables", name + ".json"), encoding="utf-8") as file:
            for key, number in numbers_of(json.load(file)):
                known.setdefault(f"{number:.9g}", f"{key} of {name}")
    return known


def code_of(name, text):
    """The text with its comments and strings blank, line for line."""
    if not name.endswith(".py"):
        return PLAIN.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    lines = text.split("\n")
    kept = [[" "] * len(line) for line in lines]
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.NAME, tokenize.NUMBER, tokenize.OP):
            row, column = token.start
            kept[row - 1][column:column + len(token.string)] = token.string
    return "\n".join("".join(line) for line in kept)


def is_quantity(names):
    """Attributes that a driver numbers (CU_...) are none."""
    return any(re.search(QUANTITY, name.replace("_", ""), re.I) for name in re.split(r"[ ,]+", names) if not name.startswith("CU_"))


def lint_file(name, text, known):
    for number, line in enumerate(code_of(name, text).split("\n"), 1):
        found = [known[key] for literal, shift in NUMBER.findall(line)
                 if (key := f"{value_of(literal, shift):.9g}") in known]
        found += [f"a literal for {names.strip()}" for names, literal in ASSIGNED.findall(line)
                  if is_quantity(names) and value_of(literal) > 1]
        found += ["a table of literals"] if re.search(rf"\bDevice\(\s*(?:\w+\s*=\s*)?{LITERAL}", line) else []
        for what in found[:1]:
            yield f"{name}:{number}: number of a device: {what}; read it from its table (lib/Device/Tables): {text.split(chr(10))[number - 1].strip()}"


def lint_device_numbers(root):
    known = known_numbers()
    listed = subprocess.run(["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard", *FOLDERS], check=True, text=True,
                            capture_output=True).stdout.split("\n")
    for name in sorted(listed):
        path = os.path.join(root, name)
        if name.endswith((".cpp", ".h", ".c", ".py")) and os.path.isfile(path):
            with open(path, encoding="utf-8", errors="replace") as file:
                yield from lint_file(name, file.read(), known)


def main():
    findings = list(lint_device_numbers(sys.argv[1] if len(sys.argv) > 1 else OWN))
    for finding in findings:
        print(finding)
    print(f"device numbers outside tables: {len(findings)}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
