#!/usr/bin/env python3
"""crash.py COMMAND...: ends the command, which reads stdin, by SIGSEGV, and fails unless its last words are llmmem's."""

import signal
import subprocess
import sys

tool = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
tool.stdin.write(b" " * (1 << 20))  # more than a pipe holds: the tool has begun to read
tool.stdin.flush()
tool.send_signal(signal.SIGSEGV)
tool.stdin.close()
said = tool.stderr.read().decode()
tool.wait()
if "llmmem crashed, which is a fault of llmmem" not in said or "llvm-project" in said:
    sys.exit(f"{sys.argv[1]}: exit code {tool.returncode}, stderr: {said[:2000]}")
