#!/usr/bin/env python3
"""Runs a command on a terminal of its own and passes on what it shows there: in-terminal.py COMMAND..."""

import os
import pty
import sys

status = pty.spawn(sys.argv[1:], stdin_read=lambda descriptor: b"")
sys.exit(os.waitstatus_to_exitcode(status))
