#!/usr/bin/env python3
"""Parts each exchange that sends and receives in two, the sends first: plant.py STAGES.mlir. Stages that send to each other at
once then both wait for the other to receive."""
import re
import sys

PATTERN = (r'(%\S+) = llm.exchange\((%[^)]*)\) over \["pp"\] \{from = array<i64: (.*)>, llm.name = "(send [^,]*), (receive [^"]*)", '
           r'llm.phase = "(.*)", to = array<i64: (.*)>\} : (.*) -> (.*)')
PARTS = (r'llm.exchange(\2) over ["pp"] {from = array<i64>, llm.name = "\4", llm.phase = "\6", to = array<i64: \7>} : \8 -> ()'
         "\n    "
         r'\1 = llm.exchange() over ["pp"] {from = array<i64: \3>, llm.name = "\5", llm.phase = "\6", to = array<i64>} : () -> \9')
text, count = re.subn(PATTERN, PARTS, open(sys.argv[1]).read())
assert count >= 2, count
print(text, end="")
