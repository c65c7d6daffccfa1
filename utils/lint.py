#!/usr/bin/env python3
"""Refuses tests that cannot fail and code that bends the rules of the house.

  dead CHECK line     a directive without its colon, or with a prefix that no RUN line names
  unverified          expected-error and its kin without -verify-diagnostics in a RUN line
  no RUN line         a lit test that runs nothing
  test's name         a lit test whose name is not lowercase with hyphens
  too large           a function, a class or a file over a limit (sizes.py)
  flags in a library  cl::opt outside tools/
  planner on MLIR     an include of MLIR under Planning/
  left open           a note to self in lib/, include/ or tools/
  open to strangers   Python started by a command or a module, which takes others from the current folder: no -I
  private name        one of PyTorch outside of the file that holds them (private_names.py)
  not annotated       a function of python/llmmem with an argument or a result that has no type
  number of a device  outside lib/Device/Tables (device_numbers.py)
  layout              bytes, places or lifetimes of values derived away from their home (layout.py)
  words               a word that is no term of the field (words.py)
  structure           folders in circles, private includes, unlisted links (structure.py)
  not formatted       a file that clang-format of LLVM 22 would write in another way

  lint.py [ROOT]      ROOT: a git checkout, by default the one that this script stands in
"""

import ast
import os
import re
import shutil
import subprocess
import sys

from device_numbers import lint_device_numbers
from layout import lint_layout
from private_names import lint_private_names
from sizes import lint_sizes
from structure import lint_structure
from words import lint_words

DIRECTIVE = re.compile(r"(?://|#|;)\s*([A-Z][A-Z0-9_-]*?)(?:-(?:NEXT|SAME|DAG|NOT|LABEL|EMPTY|COUNT-\d+))?:")
NO_COLON = re.compile(r"(?://|#|;)\s*(CHECK[A-Z0-9_-]*|[A-Z][A-Z0-9_]*-(?:NEXT|SAME|DAG|NOT|LABEL|EMPTY|COUNT-\d+))(?:\s|$)")
PYTHON_START = re.compile(r"""(?:python3?|Python3_EXECUTABLE|sys\.executable)[\w.@}"']*,?\s+((?:["']?-\w+["']?,?\s+)*["']?-\w*[cm]\b)""")
TEST_NAME = re.compile(r"/[a-z0-9]+(?:-[a-z0-9]+)*\.(?:mlir|test)$")
LIT_WORDS = {"RUN", "REQUIRES", "UNSUPPORTED", "XFAIL", "DEFINE", "REDEFINE", "ALLOW_RETRIES", "NOTE", "END"}


def tracked(root, *patterns):
    command = ["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard", *patterns]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")
    return sorted(name for name in names if name and os.path.isfile(os.path.join(root, name)))


def prefixes_of(runs):
    prefixes = set()
    for match in re.finditer(r"-?-check-prefix(?:es)?[= ](\S+)", runs):
        prefixes.update(match.group(1).split(","))
    if re.search(r"FileCheck(?![^|&;\n]*check-prefix)", runs):
        prefixes.add("CHECK")
    return prefixes


def lint_test(name, text):
    if not TEST_NAME.search(name):
        yield f"{name}: a test's name has lowercase letters, digits and hyphens"
    runs = "\n".join(re.findall(r"RUN:(.*)", text))
    if not runs:
        yield f"{name}: no RUN line"
        return
    used, seen = set(), prefixes_of(runs)
    for number, line in enumerate(text.split("\n"), 1):
        match = NO_COLON.search(line)
        if match and ":" not in line[match.end(1):match.end(1) + 1]:
            yield f"{name}:{number}: dead CHECK line, no colon: {line.strip()}"
        match = DIRECTIVE.search(line)
        if match and match.group(1) not in LIT_WORDS:
            used.add(match.group(1))
            if match.group(1) not in seen and (match.group(1).startswith("CHECK") or "-" in line[:match.end()]):
                yield f"{name}:{number}: dead CHECK line, no RUN line names the prefix {match.group(1)}"
    for prefix in sorted(seen - used):
        yield f"{name}: FileCheck looks for the prefix {prefix}, which no line has"
    if re.search(r"expected-(error|warning|remark|note)", text) and not re.search(r"-verify-diagnostics", runs):
        yield f"{name}: expected-* without -verify-diagnostics"


def lint_source(name, text):
    if re.search(r"\bcl::opt<", text) and not name.startswith(("tools/", "benchmarks/", "unittests/")):
        yield f"{name}: cl::opt in a library"
    if "/Planning/" in name and re.search(r'#include "(mlir|llvm/IR)/', text):
        yield f"{name}: the planner knows no MLIR"
    if re.search(r"\b(TODO|FIXME|XXX|HACK)\b", text):
        yield f"{name}: a note to self"


def lint_python_starts(name, text):
    """With -c and -m, Python's first place for modules is the current folder, where anybody may have put a json.py."""
    for number, line in enumerate(text.split("\n"), 1):
        start = PYTHON_START.search(line)
        if start and "I" not in start.group(1) and "sys.path" not in line:
            yield f"{name}:{number}: open to strangers: add -I, or take '' out of sys.path first: {line.strip()}"


def lint_annotations(name, text):
    for function in ast.walk(ast.parse(text, name)):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        given = function.args
        positional = given.posonlyargs + given.args
        if positional and positional[0].arg in ("self", "cls"):
            positional = positional[1:]
        several = [argument for argument in (given.vararg, given.kwarg) if argument]
        bare = [argument.arg for argument in positional + given.kwonlyargs + several if not argument.annotation]
        bare += [] if function.returns else ["its result"]
        if bare:
            yield f"{name}:{function.lineno}: not annotated: {function.name}: {', '.join(bare)}"


def lint_format(root, names):
    """Other versions of clang-format break lines in other places: only this one counts."""
    tool = shutil.which("clang-format-22")
    if not tool:
        yield "there is no clang-format-22; utils/install-dependencies installs it"
        return
    shares = [names[start::os.cpu_count() or 1] for start in range(os.cpu_count() or 1)]
    runs = [subprocess.Popen([tool, "--dry-run", *share], cwd=root, stderr=subprocess.PIPE, text=True)
            for share in shares if share]
    wrong = {match.group(1) for run in runs
             for match in re.finditer(r"^(\S+?):\d+:\d+: (?:warning|error): code should be", run.communicate()[1], re.M)}
    for name in sorted(wrong):
        yield f"{name}: not formatted: clang-format-22 -i {name}"


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    findings = []
    for name in tracked(root, "test/*.mlir", "test/*.test"):
        if "/Inputs/" in name:
            continue  # read by a test, not one
        with open(os.path.join(root, name), errors="replace") as handle:
            findings += lint_test(name, handle.read())
    for name in tracked(root, "*.cpp", "*.h", "*.c"):
        with open(os.path.join(root, name), errors="replace") as handle:
            text = handle.read()
        findings += [*lint_source(name, text), *lint_layout(name, text)]
    package = {}
    for name in tracked(root, "python/llmmem/*.py"):
        with open(os.path.join(root, name), encoding="utf-8") as handle:
            package[name] = handle.read()
        findings += lint_annotations(name, package[name])
    findings += lint_private_names(package)
    for name in tracked(root, "*"):
        if name.startswith(("test/", "unittests/", "docs/")) or name.endswith(".md"):
            continue  # run where nobody else writes, or for people to type
        with open(os.path.join(root, name), errors="replace") as handle:
            findings += lint_python_starts(name, handle.read())
    findings += lint_device_numbers(root)
    findings += lint_words(root)
    findings += lint_structure(root)
    oversized, sizes = lint_sizes(root)
    findings += oversized
    findings += lint_format(root, tracked(root, "*.cpp", "*.h", "*.c"))
    for finding in findings:
        print(finding, file=sys.stderr)
    print(sizes)
    print(f"lint: {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
