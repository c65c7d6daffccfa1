"""Holds the pages to what they say: files exist, symbols stand in their files, commands print what is shown.

  check-docs.py paths ROOT PAGE...             every path in backticks, links and code blocks exists
  check-docs.py symbols ROOT PAGE...           and every "- In ..." line and table row that names a symbol holds
  check-docs.py tour ROOT PAGE [--update]      and every console block of the page holds
  check-docs.py measured ROOT PAGE...          every table of seconds says where, when and under which load they were measured
  check-docs.py dated ROOT PAGE...             every table of seconds says at least on which processor and which day

A line "- In `file`: `symbol`, `symbol`" names where a thing is done, as a row "| ... | `file` | `symbol`, `symbol` |" does, which may name
several files, of which each symbol stands in one. In a console block a line "$ command" (continued
after a backslash) must exit with 0, and the lines below it must be all that it prints; "..." stands for lines left out.
Commands run in an empty folder with a link to examples/. --update writes what they print now into the page.

Seconds and rates of this machine are the processor's, of a day, under the load of other processes. A table or code block that shows some
needs the line that benchmarks/neighbours.py prints ("Measured on ..., N cores, DATE; other processes took N cores.") in its own
section or in the opening of one around it; of a GPU "Measured on ..., DATE; nothing else ran on the card.". A page of design
decisions, whose figures tell two ways of doing a thing apart, needs "Measured on ..., DATE".
"""

import glob
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FOLDERS = "lib|include|tools|test|unittests|utils|examples|docs|benchmarks|cmake"
PATH = re.compile(rf"(?:{FOLDERS})/[\w./*-]*\*?")
FILE = re.compile(r"[\w*-]+\.(?:cpp|h|td|py|md|def|cmake)")
BUILT = ("docs/Reference/",)  # made by the target llmmem-docs


def fences(text):
    """Splits a page in (is_code, first line number, lines)."""
    parts, code, start, lines = [], False, 1, []
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            parts.append((code, start, lines))
            code, start, lines = not code, number + 1, []
        else:
            lines.append(line)
    return parts + [(code, start, lines)]


def named_paths(line, code):
    """Returns the paths that a line names, as (path, is_bare), bare where a file is named without its folder."""
    if code:
        return [(path, False) for path in re.findall(rf"(?<![\w./-])({PATH.pattern})", line)]
    found = [(target.split("#")[0], False) for target in re.findall(r"\]\(([^)]+)\)", line) if "://" not in target]
    for word in re.findall(r"`([^`]+)`", line):
        if PATH.fullmatch(word) or word.startswith("llmmem/"):
            found.append((word, False))
        elif FILE.fullmatch(word):
            found.append((word, True))
    return found


def exists(root, page, path, bare):
    if path.startswith(BUILT) or not path:
        return True
    if bare:
        return any(glob.glob(os.path.join(root, folder, "**", path), recursive=True)
                   for folder in FOLDERS.split("|") + ["."])
    places = [root, os.path.join(root, "include"), os.path.dirname(page)]
    return any(glob.glob(os.path.join(place, path)) for place in places)


def check_paths(root, page, text):
    for code, start, lines in fences(text):
        for number, line in enumerate(lines, start):
            for path, bare in named_paths(line, code):
                if not exists(root, page, path, bare):
                    yield f"{page}:{number}: there is no '{path}'"


def named_symbols(line):
    """Returns the files that a line names and the symbols that stand in them; none of either where it is no such line."""
    match = re.match(r"- In (`[^`]+`): (.*)", line) or re.match(r"\|[^|]*\| (`[^|]*`) \| (`[^|]*`) \|$", line)
    if not match:
        return [], []
    files, symbols = (re.findall(r"`([^`]+)`", part) for part in match.groups())
    first = os.path.dirname(files[0])  # of the others, a bare name is next to the first
    return [file if "/" in file else os.path.join(first, file) for file in files], symbols


def check_symbols(root, page, text):
    for number, line in enumerate(text.split("\n"), 1):
        files, symbols = named_symbols(line)
        try:
            sources = [pathlib.Path(root, file).read_text() for file in files]
        except OSError:
            continue  # said by check_paths
        for symbol in symbols:
            if not any(re.search(r"(?<!\w)" + re.escape(symbol) + r"(?!\w)", source) for source in sources):
                yield f"{page}:{number}: '{symbol}' does not occur in {' or '.join(files)}"


def commands(lines, start):
    """Yields (line number, lines of the command, lines shown below it)."""
    number = 0
    while number < len(lines):
        first, command, shown = number, [lines[number]], []
        while command[-1].endswith("\\"):
            number += 1
            command.append(lines[number])
        number += 1
        while number < len(lines) and not lines[number].startswith("$ "):
            shown.append(lines[number])
            number += 1
        yield start + first, command, shown


def differs(shown, printed):
    """Returns the first shown line that does not come next, or a printed line too many; None where all is as shown."""
    at, skipping = 0, False
    for line in shown:
        if line == "...":
            skipping = True
            continue
        if skipping:
            while at < len(printed) and printed[at] != line:
                at += 1
        if at == len(printed) or printed[at] != line:
            return f"is shown to print '{line}'" + (f", but prints '{printed[at]}'" if at < len(printed) else "")
        at, skipping = at + 1, False
    return None if skipping or at == len(printed) else f"prints '{printed[at]}' too"


def run(command, folder):
    text = "\n".join([command[0][2:]] + command[1:])
    done = subprocess.run(["bash", "-o", "pipefail", "-c", text], cwd=folder, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=120)
    return done.returncode, done.stdout.rstrip("\n").split("\n") if done.stdout.strip() else []


def check_commands(root, page, text, update):
    count, parts = 0, fences(text)
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.join(root, "examples"), os.path.join(folder, "examples"))
        for code, start, lines in parts:
            if not code or not lines or not lines[0].startswith("$ "):
                continue
            renewed = []
            for number, command, shown in commands(lines, start):
                count += 1
                status, printed = run(command, folder)
                problem = differs(shown, printed)
                if status:
                    yield f"{page}:{number}: exit code {status}: {command[0][2:]}\n" + "\n".join(printed)
                elif problem and not update:
                    yield f"{page}:{number}: '{command[0][2:]}' {problem}"
                renewed += command + (printed if problem and not status else shown)
            lines[:] = renewed
    if not count:
        yield f"{page}: no command stands in it"
    if update:
        with open(page, "w") as file:
            file.write("\n```".join("\n".join(lines) if not index else join_fence(lines, text, start)
                                    for index, (_, start, lines) in enumerate(parts)))
    print(f"{page}: {count} commands")


def join_fence(lines, text, start):
    opening = text.split("\n")[start - 2][3:]  # the language of a fence
    return "\n".join([opening] + lines)


MEASURED = re.compile(r"Measured on [^;]+, (?:\d+ cores, \d{4}-\d\d-\d\d; other processes took \d+\.\d\d cores\."
                      r"|\d{4}-\d\d-\d\d; nothing else ran on the card\.)")
DATED = re.compile(r"Measured on [^|]+, \d{4}-\d\d-\d\d")
MEASUREMENTS = {"measured": MEASURED, "dated": DATED}
RATE = re.compile(r"(?<![\w./'])(?:s|ms|seconds|wall|tokens/s|GFLOP/s|s/step|s/pass)(?![\w./'])|\b(?:PyTorch|llmmem)'s s\b")


def shows_times(line, before, code):
    """Returns whether a table's heading or a line of a code block names measured seconds or rates. An option's name does not."""
    if code:
        return re.search(r"(?<!-)\bseconds\b(?! of )", line) is not None
    return line.startswith("|") and not before.startswith("|") and any(
        RATE.search(cell) and "predicted" not in cell and "modelled" not in cell for cell in line.split("|"))


def check_measured(page, text, wanted):
    around = [False]  # of each heading around a line: whether its own text has the line
    waiting = []      # of the section: where times stand above the line
    for code, start, lines in fences(text):
        before = ""
        for number, line in enumerate(lines, start):
            heading = None if code else re.match(r"(#+) ", line)
            if heading:
                yield from waiting
                level, waiting = len(heading.group(1)), []
                around[level:] = [around[min(level, len(around)) - 1]] * (level + 1 - min(level, len(around)))
            elif wanted.search(line):
                around[-1], waiting = True, []
            elif not around[-1] and shows_times(line, before, code):
                waiting.append(f"{page}:{number}: no line in this section says on which processor, on which day and under which load "
                               "these times were measured; benchmarks/neighbours.py prints it")
            before = line
    yield from waiting


def main():
    what, root, *pages = sys.argv[1:]
    update = "--update" in pages
    findings = []
    for page in (page for page in pages if page != "--update"):
        with open(page) as file:
            text = file.read()
        if what in MEASUREMENTS:
            findings += check_measured(page, text, MEASUREMENTS[what])
            continue
        findings += check_paths(root, page, text)
        if what in ("symbols", "tour"):
            findings += check_symbols(root, page, text)
        if what == "tour":
            findings += check_commands(root, page, text, update)
    print("\n".join(findings) if findings else f"{len(pages)} pages hold")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
