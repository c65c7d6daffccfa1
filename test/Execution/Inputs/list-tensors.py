"""Lists what a safetensors file has; with --drop NAME OUTPUT, writes it again without one tensor."""

import json
import struct
import sys

with open(sys.argv[1], "rb") as file:
    (length,) = struct.unpack("<Q", file.read(8))
    header = json.loads(file.read(length))
    data = file.read()
metadata = header.pop("__metadata__", {})
for key in sorted(metadata):
    print("metadata", key, metadata[key])
for name, tensor in header.items():
    print(tensor["dtype"], tensor["shape"], name)

if sys.argv[2:3] == ["--drop"]:
    kept, body = {"__metadata__": metadata}, b""
    for name, tensor in header.items():
        if name == sys.argv[3]:
            continue
        begin, end = tensor["data_offsets"]
        kept[name] = dict(tensor, data_offsets=[len(body), len(body) + end - begin])
        body += data[begin:end]
    text = json.dumps(kept).encode()
    with open(sys.argv[4], "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + body)
