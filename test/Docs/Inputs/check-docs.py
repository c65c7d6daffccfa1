"""Holds the pages to what they say: files exist, symbols stand in their files, commands print what is shown.

  check-docs.py paths ROOT PAGE...             every path in backticks, links and code blocks exists
  check-docs.py symbols ROOT PAGE...           and every "- In ..." line and table row that names a symbol holds
  check-docs.py tour ROOT PAGE [--update]      and every console block of the page holds

A line "- In `file`: `symbol`, `symbol`" names where a thing is done, as a row "| ... | `file` | `symbol`, `symbol` |" does. In a console block a line "$ command" (continued
after a backslash) must exit with 0, and the lines below it must be all that it prints; "..." stands for lines left out.
Commands run in an empty folder beside a link to examples/. --update writes what they print now into the page.
"""

import glob
import os
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
    """The paths that a line names, as (path, is_bare), bare where a file is named without its folder."""
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


def check_symbols(root, page, text):
    for number, line in enumerate(text.split("\n"), 1):
        match = re.match(r"- In `([^`]+)`: (.*)", line) or re.match(r"\|[^|]*\| `([^`]+)` \| (`[^|]*`) \|$", line)
        if not match:
            continue
        try:
            with open(os.path.join(root, match.group(1))) as file:
                source = file.read()
        except OSError:
            continue  # said by check_paths
        for symbol in re.findall(r"`([^`]+)`", match.group(2)):
            if not re.search(r"(?<!\w)" + re.escape(symbol) + r"(?!\w)", source):
                yield f"{page}:{number}: '{symbol}' does not occur in {match.group(1)}"


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
    """The first shown line that does not come next, or a printed line too many; None where all is as shown."""
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


def main():
    what, root, *pages = sys.argv[1:]
    update = "--update" in pages
    findings = []
    for page in (page for page in pages if page != "--update"):
        with open(page) as file:
            text = file.read()
        findings += check_paths(root, page, text)
        if what in ("symbols", "tour"):
            findings += check_symbols(root, page, text)
        if what == "tour":
            findings += check_commands(root, page, text, update)
    print("\n".join(findings) if findings else f"{len(pages)} pages hold")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
