#!/usr/bin/env python3
"""Runs clang-tidy of LLVM 22 with .clang-tidy: utils/tidy.py BUILD [--all | --most N] [--root CHECKOUT]

On the sources that differ from where this branch left main (on main: from the last commit), or on all. A file takes ten
seconds and more: with --most on the N that changed last, and the others are counted. Exits with 1 where clang-tidy has
something to say. BUILD is configured: compile_commands.json is read from it.
"""

import argparse
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys

TIDY = "clang-tidy-22"


def git(root, *arguments):
    done = subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def changed(root):
    """Returns the files that differ from the merge base with main, the latest first; those that git does not know yet too."""
    base = next((found for name in ("main", "origin/main") if (found := git(root, "merge-base", "HEAD", name))), "HEAD")
    names = [git(root, "ls-files", "--others", "--exclude-standard"), git(root, "diff", "--name-only", "HEAD"),
             git(root, "log", "--name-only", "--format=", base + "..HEAD")]
    return [os.path.join(root, name) for name in dict.fromkeys("\n".join(names).split("\n")) if name]


def compiled(root, build):
    """Returns our sources that this build compiles."""
    with open(os.path.join(build, "compile_commands.json")) as handle:
        files = {os.path.normpath(os.path.join(entry["directory"], entry["file"])) for entry in json.load(handle)}
    return {name for name in files if name.startswith(root + os.sep) and not name.startswith(build + os.sep)}


def tidy(build, file):
    """Returns what clang-tidy says of a file: its warnings and errors."""
    done = subprocess.run([TIDY, "-p", build, "--quiet", file], capture_output=True, text=True, check=False)
    said = sorted(set(re.findall(r"^\S+:\d+:\d+: (?:warning|error): .*$", done.stdout, re.M)))
    return said or ([f"{file}: {done.stderr.strip()}"] if done.returncode else [])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--all", action="store_true", help="every source of the build, not only changed ones")
    parser.add_argument("--most", type=int, metavar="N", help="of the changed ones, the N that changed last")
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    options = parser.parse_args()
    root = os.path.abspath(options.root)
    if not shutil.which(TIDY):
        sys.exit(f"tidy: there is no {TIDY}; utils/install-dependencies installs it")
    build = os.path.abspath(options.build)
    ours = compiled(root, build)
    found = sorted(ours) if options.all else [name for name in changed(root) if name in ours]
    files = found[: options.most]
    findings = set()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for said in pool.map(lambda file: tidy(build, file), files):
            findings.update(said)
    for finding in sorted(findings):
        print(os.path.relpath(finding, root) if finding.startswith("/") else finding, file=sys.stderr)
    left = f" ({len(found) - len(files)} that changed before them were left to --all)" if len(found) > len(files) else ""
    print(f"tidy: {len(files)} files, {len(findings)} findings{left}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
