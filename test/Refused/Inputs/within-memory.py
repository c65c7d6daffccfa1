#!/usr/bin/env python3
"""within-memory.py MEGABYTES -- COMMAND...: runs the command, and fails where it or what it started held more at once."""

import resource
import subprocess
import sys

code = subprocess.run(sys.argv[3:]).returncode
held = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1000
if held > int(sys.argv[1]):
    sys.exit(f"within-memory: {held} MB were held")
sys.exit(code)
