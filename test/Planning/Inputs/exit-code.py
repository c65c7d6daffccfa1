#!/usr/bin/env python3
"""exit-code.py CODE COMMAND...: fails unless the command exits with CODE, whatever it writes."""

import subprocess
import sys

done = subprocess.run(sys.argv[2:], capture_output=True, text=True, stdin=subprocess.DEVNULL)
if done.returncode != int(sys.argv[1]):
    sys.exit(f"exit code {done.returncode}, expected {sys.argv[1]}\n{done.stderr}")
