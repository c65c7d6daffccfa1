"""exit-code.py CODE COMMAND...: runs the command, and fails unless it exits with this code."""

import subprocess
import sys

code = subprocess.run(sys.argv[2:]).returncode
if code != int(sys.argv[1]):
    sys.exit(f"exit code {code}, expected {sys.argv[1]}")
