"""Writes the buffers of latent-groups.mlir with so many heads to a folder: small numbers in bf16, and positions of a sequence with 300 rows and
of one with none."""
import os
import struct
import sys

folder, heads = sys.argv[1], int(sys.argv[2])


def write(number, data):
    with open(os.path.join(folder, str(number)), "wb") as file:
        file.write(data)


def halves(count):
    return b"".join(struct.pack("<f", (i * 37 % 61 - 30) / 32)[2:] for i in range(count))


os.makedirs(folder, exist_ok=True)
results = 2 * heads * 32
write(0, bytes(2 * results))
for number, count in ((1, 2 * heads * 48), (2, 2 * 48), (3, 2 * 320 * 48), (5, results)):
    write(number, halves(count))
write(4, struct.pack("<ii", 300, -1))
