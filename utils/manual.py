#!/usr/bin/env python3
"""Writes a manual page of each program from what it prints for --help: utils/manual.py build/bin build/man/man1 [llmmem llmmem-fit ...]

Without names it is each program that the folder has. `ninja llmmem-manual` runs this, and `cmake --install` and the wheel put the pages where
`man llmmem-fit` finds them.
"""

import os
import re
import subprocess
import sys

# What has a page: each command of `llmmem` but the server of editors, whose flags are LLVM's.
PROGRAMS = ["llmmem", "llmmem-bundle", "llmmem-commbench", "llmmem-emulate", "llmmem-fit", "llmmem-import", "llmmem-opt", "llmmem-plan",
            "llmmem-replay", "llmmem-run", "llmmem-study"]
# Of LLVM's tools, of study's argparse, of replay's own.
OPTION = re.compile(r"^ {2,4}(-\S(?:.*?\S)?)(?: +- +| {2,})(\S.*)$")
ALONE = re.compile(r"^ {2,4}(-\S.*)$")
CHOICE = re.compile(r"^ {4}(=\S+) +- +(\S.*)$")
HEADING = re.compile(r"^(?:[A-Z][A-Z ]+(?: of \S+|, .*)?|[a-z ]+:)$")


def escape(text):
    """Returns a line of text that groff takes as it stands."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


class Page:
    """Turns the lines of one --help into those of a manual page."""

    def __init__(self):
        self.lines, self.in_options, self.is_verbatim, self.is_apart = [], False, False, False

    def verbatim(self, wanted):
        if wanted != self.is_verbatim:
            self.lines.append(".nf" if wanted else ".fi")
        self.is_verbatim = wanted

    def heading(self, kind, text):
        self.verbatim(False)
        self.lines.append(f'.{kind} "{escape(text)}"')

    def option(self, label, text):
        self.lines += [".TP", f"\\fB{escape(label)}\\fR"] + ([escape(text)] if text else [])

    def add(self, line):
        """Adds a line of --help that comes after the description and the usage."""
        words = line.rstrip()
        if HEADING.match(words) or words == "OPTIONS:":
            self.heading("SH", words[:-1].upper() if words.endswith(":") else words)
            self.in_options = words.upper().startswith("OPTIONS")
        elif self.in_options:
            self.add_option_line(words)
        elif words:
            if self.is_verbatim and self.is_apart:
                self.lines.append(".sp")
            self.verbatim(True)
            self.lines.append(escape(words))
        self.is_apart = not words

    def add_option_line(self, words):
        choice, option, alone = CHOICE.match(words), OPTION.match(words), ALONE.match(words)
        if choice:
            self.lines += [".br", f"\\fB{escape(choice[1])}\\fR: {escape(choice[2])}"]
        elif option or alone:
            self.option(*(option.groups() if option else (alone[1], "")))
        elif words and not words.startswith("  ") and words.endswith(":"):
            self.heading("SS", words.rstrip(":"))
        elif words and not words.startswith("  "):
            self.in_options = False
            self.heading("SH", "NOTES")
            self.add(words)
        elif words:
            self.lines.append(escape(words.strip()))


def split(text, program):
    """Returns the summary, the lines of the usage, those of the description, and what follows."""
    lines = text.splitlines()
    usage = next(k for k, line in enumerate(lines) if line.lower().startswith("usage:"))
    above = "\n".join(lines[:usage]).removeprefix("OVERVIEW: ").removeprefix(f"{program}: ").strip().splitlines()
    end = usage + next((k for k, line in enumerate(lines[usage:]) if not line), len(lines) - usage)
    shown = [re.sub("(?i)^usage: ", "", line).strip() for line in lines[usage:end]]
    rest = lines[end + 1:]
    if not above:  # argparse describes the program after its usage.
        length = next((k for k, line in enumerate(rest) if not line), len(rest))
        above, rest = [" ".join(rest[:length])], rest[length + 1:]
    return above[0], shown, above[1:], rest


def help_of(*command):
    # argparse breaks lines at COLUMNS.
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "1000"})
    if done.returncode or not done.stdout:
        sys.exit(f"manual: {' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def page_of(folder, program, version):
    summary, usage, description, rest = split(help_of(os.path.join(folder, program), "--help"), program)
    page = Page()
    page.lines += [f'.TH {program.upper()} 1 "" "{version}" "User Commands"', ".SH NAME", f"{escape(program)} \\- {escape(summary.rstrip('.'))}"]
    page.heading("SH", "SYNOPSIS")
    page.lines += [escape(line) for line in usage]
    if any(description):
        page.heading("SH", "DESCRIPTION")
        for line in description:
            page.add(line)
    elif rest and rest[0].startswith("  "):
        page.heading("SH", "COMMANDS")
    for line in rest:
        page.add(line)
    if program == "llmmem":
        _, usage, _, rest = split(help_of(os.path.join(folder, program), "plan", "--help"), program)
        page.heading("SH", "llmmem plan config.json")
        page.lines += [escape(line).replace("llmmem\\-plan", "llmmem plan") for line in usage]
        for line in rest:
            page.add(line)
    page.heading("SH", "SEE ALSO")
    page.lines.append(", ".join(f"\\fB{escape(other)}\\fR(1)" for other in PROGRAMS if other != program))
    return "\n".join(line for line in page.lines if line) + "\n"


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    folder, output, *programs = sys.argv[1:]
    os.makedirs(output, exist_ok=True)
    version = help_of(os.path.join(folder, "llmmem"), "--version").strip()
    for program in programs or [name for name in PROGRAMS if os.path.exists(os.path.join(folder, name))]:
        page = page_of(folder, program, version)
        with open(os.path.join(output, program + ".1"), "w", encoding="utf-8") as file:
            file.write(page)


if __name__ == "__main__":
    main()
