#!/usr/bin/env python3
"""Makes a folder that is a machine with the C library alone: empty_root.py FOLDER PROGRAM FILE...

The program lies at /program, the files and folders at /, and of the C library what the program loads: nothing else. What it
names that is no part of the C library ends this with exit code 1.
"""

import os
import re
import shutil
import subprocess
import sys

C_LIBRARY = re.compile(r"^(libc|libm|libdl|libpthread|librt|ld-linux-x86-64)\.so\.\d+$")


def main():
    root, program, *files = sys.argv[1:]
    shutil.rmtree(root, ignore_errors=True)
    os.makedirs(root)
    shutil.copy(program, os.path.join(root, "program"))
    loaded = set(re.findall(r"(/\S+) \(0x", subprocess.run(["ldd", program], check=True, text=True, capture_output=True).stdout))
    for path in sorted(loaded):
        if not C_LIBRARY.match(os.path.basename(path)):
            sys.exit(f"{program} loads {path}, which is no part of the C library")
        target = root + path
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(os.path.realpath(path), target)
    for path in files:
        copy = shutil.copytree if os.path.isdir(path) else shutil.copy
        copy(path, os.path.join(root, os.path.basename(path)))


if __name__ == "__main__":
    main()
