#!/usr/bin/env python3
"""run-readme.py ROOT PAGE...: runs what pages show of llmmem-import, llmmem-opt and echo, one after the other in one empty folder.

Left out are commands that need what is not here: weights, a text, a graph of JAX. A search is cut short. Each command must
succeed, and printed are how many did.
"""

import os
import re
import subprocess
import sys
import tempfile


def commands(text):
    for fence in re.findall(r"^```(?:sh)?\n(.*?)^```", text, re.S | re.M):
        for line in fence.splitlines():
            command = re.sub(r" {2,}#.*", "", line)
            if command.startswith(("llmmem-import ", "llmmem-opt ", "echo ")) and "jax.mlir" not in command:
                yield command


def main():
    root, *pages = sys.argv[1:]
    shown = []
    for page in pages:
        with open(os.path.join(root, page), encoding="utf-8") as handle:
            shown += commands(handle.read())
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.join(root, "examples"), os.path.join(folder, "examples"))
        for command in shown:
            short = command.replace("llmmem-opt ", "llmmem-opt --checkpoint-seconds=0.2 ")
            done = subprocess.run(short, shell=True, cwd=folder, capture_output=True, text=True, check=False)
            if done.returncode:
                sys.exit(f"exit code {done.returncode}: {command}\n{done.stderr}")
    print(len(shown), "commands ran")


if __name__ == "__main__":
    main()
