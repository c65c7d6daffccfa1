#!/usr/bin/env python3
"""Saves while one rank's disk is full at one call: full_disk.py LIBRARY STEP DATA FOLDER NAME LAUNCHER...

NAME is the checkpoint's: one that ends in .index.json has several files. The run must fail with a message that names rank
and file, leave the folder's files as they were and no other. Prints a line for each."""
import os
import re
import subprocess
import sys

library, step, data, folder, name, launcher = *sys.argv[1:6], sys.argv[6:]


def contents():
    return {file: open(os.path.join(folder, file), "rb").read() for file in os.listdir(folder)}


os.makedirs(folder, exist_ok=True)
path = os.path.join(folder, name)
run = ["llmmem-run", "--optimize=false", step, "--data", data, "--gemm", "builtin", "--save", path, "--file-bytes", "100kB"]
subprocess.run([*launcher, *run], check=True, capture_output=True)
before = contents()
# Where there are several files, the first steps are those of one.
for full in ("0:posix_fallocate", "0:pwrite", "1:pwrite", "1:fsync") if len(before) == 1 else ("1:pwrite", "1:fsync"):
    preload = ["-x", f"LD_PRELOAD={library}", "-x", f"FULL_DISK={full}"]
    job = subprocess.run([*launcher, *preload, *run, "--resume", path], capture_output=True, text=True, timeout=60)
    message = re.search(rf"rank {full[0]} cannot [a-z ]+ '{re.escape(folder)}/[^']+': No space left on device", job.stderr)
    if job.returncode == 0 or not message:
        sys.exit(f"{full}: code {job.returncode}, expected a message of rank {full[0]}:\n{job.stderr}")
    if contents() != before:
        sys.exit(f"{full}: a file has changed, or others are there: {sorted(before)}, {sorted(contents())}")
    print(f"{full}: {'all files are as they were' if len(before) > 1 else 'the file is as it was'}")
