"""Demands that a captured step copies what its report says, and has as many updates on the host: host_copies.py report.json log out."""
import json
import re
import sys

report, log, out = sys.argv[1:]
host = json.load(open(report))["host"]
lines = open(log).read().splitlines()
for what, key in (("download", "up_bytes"), ("upload", "down_bytes")):
    copied = sum(int(match.group(1)) for line in lines if (match := re.match(rf"node {what} \S+ (\d+) bytes", line)))
    if copied != host[key]:
        sys.exit(f"the graph's copies {what} {copied} bytes, the report says {host[key]}")
updates = sum(line.startswith("node host function") for line in lines)
if updates != host["updates"]:
    sys.exit(f"the graph updates {updates} times on the host, the report says {host['updates']}")
# An argument of the host is pinned by itself, and the arena.
pinned = [int(line.split()[1]) for line in lines if line.startswith("pin ")]
if sum(pinned) != host["resident"] + host["arena"] or lines.count("unpin") != len(pinned):
    sys.exit(f"{sum(pinned)} bytes are pinned, and {lines.count('unpin')} of {len(pinned)} unpinned")
(measured,) = re.findall(r"resident on the host measured (\d+)", open(out).read())
if int(measured) != host["resident"] + host["resident_padding"]:
    sys.exit(f"{measured} bytes of the host measured, not {host['resident']} and padding")
