"""Prints the blocks whose forward each stage of a pipeline runs: blocks-of-stages.py STEP"""

import re
import sys

stage, blocks = None, {}
with open(sys.argv[1], encoding="utf-8") as file:
    for line in file:
        if begin := re.search(r"func\.func @(stage\d+)", line):
            stage = begin[1]
        block = re.search(r"llm\.block = (\d+)", line)
        if stage and block and 'llm.phase = "forward"' in line:
            blocks.setdefault(stage, set()).add(int(block[1]))
for stage in sorted(blocks):
    print(stage, sorted(blocks[stage]))
