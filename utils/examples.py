#!/usr/bin/env python3
"""Runs the examples that stand in the descriptions of passes and ops, and counts who has one.

  examples.py INCLUDE [--tools DIR]...      INCLUDE: a folder with .td files, as include/; exits with 1 on a finding

An op's example is a block ```mlir of its description that contains the op. It must parse, verify, print again what it
printed, and stand in the description as it is printed (line breaks, and how floats are spelt, apart). Values that it
reads and does not define become arguments of a function around it.

A pass's example is a block ```mlir with a program, a marker, and what must come of it:

  // becomes       parts of the program that is printed, in order
  // prints        lines that stand in what is said on stderr, in order
  // is refused    the same, and the tool fails

"..." stands for what is left out, and values may have other names. The pass runs with its default options, or with the
flags after the word mlir: ```mlir --plan-arena=device=cpu. Each example must fail where its pass does not run.

Who needs an example: every op and pass in INCLUDE's .td files; and those must be all passes that llmmem-opt has beyond
mlir-opt's.
"""

import argparse
import bisect
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field

FENCE = re.compile(r"^[ ]*```mlir(?P<flags>[^\n]*)\n(?P<text>.*?)^[ ]*```", re.M | re.S)
MARKER = re.compile(r"^[ ]*// (becomes|prints|is refused)[ ]*\n", re.M)
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\.\.\.|%[\w$.-]+(?:[:#]\d+)?|-?\d+\.\d+(?:[eE][-+]?\d+)?|->'
                   r"|[#@!^]*[\w$]+(?:\.[\w$]+)*|\S")
FLOAT = re.compile(r"-?\d+\.\d+(?:[eE][-+]?\d+)?")
FUNCTIONS = {"func.func", "llvm.func", "gpu.func"}


@dataclass
class Entry:
    """An op or a pass: its name, where it is defined, and its description."""
    name: str
    place: str
    description: str
    findings: list = field(default_factory=list)


class Tools:
    def __init__(self, folders):
        self.path = os.pathsep.join(folders + [os.environ["PATH"]])

    def find(self, name):
        found = shutil.which(name, path=self.path)
        if not found:
            sys.exit(f"examples.py: there is no {name}; give its folder with --tools")
        return found

    def opt(self, flags, text):
        """Returns the exit code, stdout and stderr of llmmem-opt on a program."""
        done = subprocess.run([self.find("llmmem-opt"), *flags, "-"], input=text, capture_output=True, text=True,
                              timeout=120)
        return done.returncode, done.stdout, done.stderr

    def records(self, include, file):
        """Returns all records of a .td file, as JSON."""
        tblgen = self.find("llvm-tblgen")
        upstream = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(tblgen))), "include")
        command = [tblgen, "-dump-json", "-I", include, "-I", upstream, file]
        return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def definitions(tools, include, kind, name_of):
    """Returns the ops or passes of every .td file, each once, in the order of their names."""
    entries = {}
    for folder, _, files in sorted(os.walk(include)):
        for file in sorted(files):
            path = os.path.join(folder, file)
            with open(path) as handle:
                if not file.endswith(".td") or not re.search(r"^def ", handle.read(), re.M):
                    continue
            records = tools.records(include, path)
            for key in records["!instanceof"].get(kind, []):
                record = records[key]
                name = name_of(records, record)
                entries.setdefault(name, Entry(name, record["!locs"][0], record["description"]))
    return [entries[name] for name in sorted(entries)]


#===--------------------------------------------------------------------------------------------------------------===#
# Comparing programs
#===--------------------------------------------------------------------------------------------------------------===#

def tokens(text):
    """Returns the tokens of a program without its comments; `%0:2` is expanded, and floats are spelt one way."""
    found = []
    for line in text.split("\n"):
        for token in TOKEN.findall(re.sub(r'(^|\s)//.*', "", line)):
            several = re.fullmatch(r"(%[\w$.-]+):(\d+)", token)
            if several:
                names = [f"{several.group(1)}#{number}" for number in range(int(several.group(2)))]
                found += [part for name in names for part in (name, ",")][:-1]
            else:
                found.append(repr(float(token)) if FLOAT.fullmatch(token) else token)
    return found


def matches_here(expected, actual, at, names):
    """Returns the names of values if `expected` stands at actual[at], else None."""
    names = dict(names)
    if at + len(expected) > len(actual):
        return None
    for want, have in zip(expected, actual[at:]):
        if want in FUNCTIONS:
            names.clear()  # another function, other values
        if want.startswith("%") and have.startswith("%"):
            if names.setdefault(want, have) != have:
                return None
        elif want != have:
            return None
    return names


def contains(expected, actual):
    """Returns whether the parts of `expected` between "..." stand in `actual`, in order and each whole."""
    parts = [[]]
    for token in expected:
        if token == "...":
            parts.append([])
        else:
            parts[-1].append(token)
    parts = [part for part in parts if part]

    def place(index, start, names):
        if index == len(parts):
            return True
        for at in range(start, len(actual) - len(parts[index]) + 1):
            found = matches_here(parts[index], actual, at, names)
            if found is not None and place(index + 1, at + len(parts[index]), found):
                return True
        return False

    return bool(parts) and place(0, 0, {})


def says(expected, printed):
    """Returns the first expected line that does not come in order, or None."""
    at = 0
    lines = [re.sub(r"^// ?", "", line.strip()) for line in expected.strip().split("\n")]
    for line in lines:
        for piece in (piece.strip() for piece in line.split("...")):
            found = printed.find(piece, at)
            if found < 0:
                return piece
            at = found + len(piece)
    return None if any(line.replace("...", "").strip() for line in lines) else "(an empty expectation)"


#===--------------------------------------------------------------------------------------------------------------===#
# Ops
#===--------------------------------------------------------------------------------------------------------------===#

def free_values(text):
    """Returns the values that a text reads and does not define, in the order of their first reading."""
    text = re.sub(r"//.*", "", text)
    defined = set()
    for names in re.findall(r"^\s*((?:%[\w$.-]+(?::\d+)?\s*,\s*)*%[\w$.-]+(?::\d+)?)\s*=", text, re.M):
        defined.update(re.findall(r"%[\w$.-]+", names))
    defined.update(re.findall(r"(%[\w$.-]+)\s*=\s*%", text))
    return [name for name in dict.fromkeys(re.findall(r"%[\w$.-]+", text)) if name not in defined]


def wrap(text, types):
    if re.search(r"^\s*(?:func\.func|module)\b", text, re.M):
        return text
    arguments = ", ".join(f"{name}: {type}" for name, type in types.items())
    return f"func.func @example({arguments}) {{\n{text}\nreturn\n}}\n"


def run_all(tools, programs):
    """Returns what one call prints of each program, and the first error of each (None where there is none)."""
    lines, starts = [], []
    for program in programs:
        starts.append(len(lines) + 1)
        lines += program.rstrip("\n").split("\n") + ["// -----"]
    status, printed, said = tools.opt(["--split-input-file"], "\n".join(lines[:-1]) + "\n")
    errors = [None] * len(programs)
    for match in re.finditer(r"^<stdin>:(\d+):\d+: error: (.*)$", said, re.M):
        index = bisect.bisect_right(starts, int(match.group(1))) - 1
        errors[index] = errors[index] or match.group(2)
    if status and not any(errors):
        sys.exit(f"examples.py: llmmem-opt failed without a place:\n{said}")
    return printed.split("// -----\n"), errors


def typed(tools, texts):
    """Returns each text in a function whose arguments have the types that its ops say."""
    types = [{name: "none" for name in free_values(text)} for text in texts]
    while True:
        programs = [wrap(text, known) for text, known in zip(texts, types)]
        learned = False
        for known, error in zip(types, run_all(tools, programs)[1]):
            wrong = re.match(r"use of value '(%[\w$.-]+)' expects different type than prior uses: '(.*)' vs 'none'",
                             error or "")
            if wrong and known.get(wrong.group(1)) == "none":
                known[wrong.group(1)] = wrong.group(2)
                learned = True
        if not learned:
            return programs


def first_error(said):
    return next((line for line in said.split("\n") if "error:" in line), said.strip() or "failed without a message")


def check_ops(tools, entries):
    blocks = [(entry, match.group("text")) for entry in entries for match in FENCE.finditer(entry.description)]
    for entry in entries:
        if not any(owner is entry and re.search(re.escape(entry.name) + r"(?![\w.])", block) for owner, block in blocks):
            entry.findings.append("has no example")
    if not blocks:
        return
    programs = typed(tools, [block for _, block in blocks])
    sound = []
    for (entry, block), program, error in zip(blocks, programs, run_all(tools, programs)[1]):
        if error:
            entry.findings.append(f"its example is refused: error: {error}")
        else:
            sound.append((entry, block, program))
    if not sound:
        return
    printed = run_all(tools, [program for _, _, program in sound])[0]
    again, errors = run_all(tools, printed)
    for (entry, block, _), text, other, error in zip(sound, printed, again, errors, strict=True):
        if error or other != text:
            entry.findings.append(f"its example does not read back as it is printed: {error or other}")
        if not contains(tokens(block), tokens(text)):
            entry.findings.append(f"its example is not written as it is printed:\n{text}")


#===--------------------------------------------------------------------------------------------------------------===#
# Passes
#===--------------------------------------------------------------------------------------------------------------===#

def outcome(tools, flags, before, kind, after):
    """Returns what is missing of the expected outcome under these flags, or None where it is as expected."""
    status, printed, said = tools.opt(flags, before)
    if kind == "is refused":
        missing = says(after, said) if status else "a failure"
        return f"is not refused as shown: '{missing}' is missing of:\n{said}" if missing else None
    if status:
        return f"fails: {first_error(said)}"
    if kind == "prints":
        missing = says(after, said)
        return f"does not print '{missing}', but:\n{said}" if missing else None
    return None if contains(tokens(after), tokens(printed)) else f"becomes something else:\n{printed}"


def check_pass(tools, entry):
    blocks = list(FENCE.finditer(entry.description))
    if not blocks:
        entry.findings.append("has no example")
    for block in blocks:
        own = re.compile(rf"--?{re.escape(entry.name)}(=|$)")
        flags = shlex.split(block.group("flags")) or [f"--{entry.name}"]
        before, *rest = MARKER.split(block.group("text"))
        if len(rest) != 2:
            entry.findings.append("its example needs one line '// becomes', '// prints' or '// is refused'")
        elif not any(own.match(flag) for flag in flags):
            entry.findings.append(f"its example does not run it, but {' '.join(flags)}")
        elif problem := outcome(tools, flags, before, *rest):
            entry.findings.append(f"its example {problem}")
        elif not outcome(tools, [flag for flag in flags if not own.match(flag)], before, *rest):
            entry.findings.append("its example holds without the pass")


def registered(tools, tool):
    """Returns the passes that a tool lists in its help."""
    text = subprocess.run([tools.find(tool), "--help-hidden"], capture_output=True, text=True, check=True).stdout
    section = re.search(r"^    Passes:\n(.*?)^    Pass Pipelines:", text, re.M | re.S).group(1)
    return set(re.findall(r"^      --([\w-]+)", section, re.M))


#===--------------------------------------------------------------------------------------------------------------===#

def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("include")
    parser.add_argument("--tools", action="append", default=[], help="where llmmem-opt, mlir-opt and llvm-tblgen lie")
    options = parser.parse_args()
    tools = Tools(options.tools)
    passes = definitions(tools, options.include, "PassBase", lambda records, record: record["argument"])
    ops = definitions(tools, options.include, "Op",
                      lambda records, record: f"{records[record['opDialect']['def']]['name']}.{record['opName']}")
    for entry in passes:
        check_pass(tools, entry)
    check_ops(tools, ops)
    for entry in passes + ops:
        for finding in entry.findings:
            print(f"{entry.place}: {entry.name}: {finding.rstrip()}")
    found = sum(len(entry.findings) for entry in passes + ops)
    own, described = registered(tools, "llmmem-opt") - registered(tools, "mlir-opt"), {it.name for it in passes}
    for name in sorted(own ^ described):
        print(f"{name}: is a pass of llmmem-opt that no .td file describes" if name in own
              else f"{name}: is described and no pass of llmmem-opt's own")
        found += 1
    sound = [sum(not entry.findings for entry in entries) for entries in (passes, ops)]
    print(f"{sound[0]} of {len(passes)} passes, {sound[1]} of {len(ops)} ops have an example that runs")
    return 1 if found or not passes or not ops else 0


if __name__ == "__main__":
    sys.exit(main())
