"""Of two steps on one GPU: the allocations that stay are parameters and caches once, the longer arena, and little else; and nothing is
sent twice but the inputs of a step.

  shared_buffers.py prefill.json decode.json driver.log
"""
import json
import re
import sys

prefill, decode = (json.load(open(path)) for path in sys.argv[1:3])
log = open(sys.argv[3]).read()
sizes = [int(size) for size in re.findall(r"alloc A\d+ (\d+) bytes", log)]
shared = decode["resident"]["param"] + decode["resident"]["kv_cache"]
resident, arena = sizes[2:]
assert len(sizes) == 4, sizes
assert arena == max(prefill["arena"], decode["arena"]), (arena, prefill["arena"], decode["arena"])
# Ids, lengths, counts and logits of both steps, and what aligning takes.
assert shared <= resident < shared + 64 * 1024, (resident, shared)
sent = [int(size) for size in re.findall(r"upload A2\+\d+ (\d+) bytes", log)]
assert sum(size for size in sent if size > 4096) <= shared, sent
