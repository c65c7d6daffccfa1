#!/usr/bin/env python3
"""Prints how many blocks each stage of the steps in FILES has: blocks.py FILES...; an attention is a block."""
import re
import sys

for path in sys.argv[1:]:
    with open(path) as handle:
        stages = re.split(r"func\.func @stage\d+", handle.read())[1:]
    print([len(set(re.findall(r"llm\.attention .*?llm\.block = (\d+)", stage))) for stage in stages])
