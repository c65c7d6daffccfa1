"""Splits a safetensors file into two with an index, and writes an index that has a tensor in the wrong one.

  split-weights.py file folder
"""
import json
import os
import struct
import sys

path, folder = sys.argv[1:]
with open(path, "rb") as file:
    data = file.read()
length = struct.unpack_from("<Q", data)[0]
header = json.loads(data[8 : 8 + length])
header.pop("__metadata__", None)
names = sorted(name for name in header if not name.startswith(("tokens.", "logits.")))
places = {name: "model-%d.safetensors" % (1 if number < len(names) // 2 else 2) for number, name in enumerate(names)}
for part in sorted(set(places.values())):
    entries, payload = {}, b""
    for name in names:
        if places[name] != part:
            continue
        begin, end = header[name]["data_offsets"]
        bytes_ = data[8 + length + begin : 8 + length + end]
        entries[name] = {**header[name], "data_offsets": [len(payload), len(payload) + len(bytes_)]}
        payload += bytes_
    text = json.dumps(entries).encode()
    with open(os.path.join(folder, part), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + payload)
for name, wrong in (("model.safetensors.index.json", {}), ("wrong.index.json", {"model.norm.weight": "model-1.safetensors"})):
    with open(os.path.join(folder, name), "w") as file:
        json.dump({"metadata": {}, "weight_map": {**places, **wrong}}, file)
