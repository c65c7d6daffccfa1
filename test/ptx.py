#!/usr/bin/env python3
"""Reads the PTX that a lowered module holds: llmmem-opt ... | ptx.py print|table [limits]

`print` writes the PTX as it is. `table` assembles it with ptxas and prints a line for each kernel: registers, bytes
spilled, bytes of local and of shared memory, and how many of its global accesses move 128 bits (16 bytes a thread).
It exits with 1 where a kernel spills, has local memory, calls a function that is nowhere, or breaks a given limit.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

HEX = re.compile(r"\\([0-9A-Fa-f]{2})")
OBJECT = re.compile(r'gpu\.binary @(\S+).*?chip = "(\w+)".*?assembly = "((?:[^"\\]|\\.)*)"', re.DOTALL)
ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*\((.*?)\n\}", re.DOTALL)
ACCESS = re.compile(r"\b(ld|st)\.(?:relaxed\.|volatile\.|weak\.)?global(?:\.nc)?(?:\.L\S+?)?(\.v[248])?\.[bsuf](\d+)")
COPY = re.compile(r"\bcp\.async\.c[ag]\.shared\.global\b[^;]*?\],\s*(\d+)")
PROPERTIES = re.compile(r"Function properties for (\S+)\s+(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes "
                        r"spill loads")
USED = re.compile(r"Compiling entry function '(\S+)' for '\w+'.*?Used (\d+) registers(.*?)(?=\n|$)", re.DOTALL)


def modules(text):
    """(name, chip, PTX) of each gpu.binary. MLIR escapes what is no printable character as two hex digits."""
    for name, chip, escaped in OBJECT.findall(text):
        text = HEX.sub(lambda match: chr(int(match.group(1), 16)), escaped.replace('\\"', '"').replace("\\\\", "\\"))
        yield name, chip, text.rstrip("\0")


def widths(body):
    """How many bytes each global access of a kernel moves."""
    return ([int(vector[2:] or 1) * int(bits) // 8 for _, vector, bits in ACCESS.findall(body)]
            + [int(width) for width in COPY.findall(body)])


def assemble(ptxas, chip, text):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "kernels.ptx")
        with open(path, "w") as file:
            file.write(text)
        return subprocess.run([ptxas, "-v", f"--gpu-name={chip}", path, "-o", os.path.join(folder, "kernels.cubin")],
                              capture_output=True, text=True)


def kernels(ptxas, chip, text):
    """A row for each kernel of one PTX module."""
    outcome = assemble(ptxas, chip, text)
    if outcome.returncode:
        sys.exit(f"ptxas refuses the kernels for {chip}:\n{outcome.stderr}")
    serialized = re.findall(r"wgmma.mma_async instructions are serialized.*?function '(\S+?)'", outcome.stderr)
    properties = {name: (int(frame), int(stores) + int(loads))
                  for name, frame, stores, loads in PROPERTIES.findall(outcome.stderr)}
    used = {}
    for name, registers, rest in USED.findall(outcome.stderr):
        shared = re.search(r"(\d+) bytes smem", rest)
        used[name] = int(registers), int(shared.group(1)) if shared else 0
    for name, body in ENTRY.findall(text):
        moved = widths(body)
        yield {"kernel": name, "registers": used[name][0], "spills": properties[name][1],
               "local": properties[name][0], "shared": used[name][1], "accesses": len(moved),
               "vector": sum(width >= 16 for width in moved), "depot": "__local_depot" in body,
               "serialized": name in serialized, "body": body}


def broken(row, limits):
    """What a kernel must not do."""
    if row["spills"] or row["local"] or row["depot"]:
        yield "has memory of its own: its values do not fit the registers"
    if row["serialized"]:
        yield "waits for each wgmma: ptxas found its sums touched on the way"
    for pattern, registers in limits.registers:
        if re.search(pattern, row["kernel"]) and row["registers"] > int(registers):
            yield f"takes more than {registers} registers"
    for pattern in limits.vector:
        if re.search(pattern, row["kernel"]) and row["vector"] == 0:
            yield "moves nothing by 128 bits"
    for pattern in limits.mma:
        if re.search(pattern, row["kernel"]) and "mma.sync" not in row["body"]:
            yield "has no mma.sync"
    for pattern in limits.wgmma:
        if re.search(pattern, row["kernel"]) and "wgmma.mma_async" not in row["body"]:
            yield "has no wgmma"


def print_table(rows):
    columns = ["kernel", "registers", "spills", "local", "shared", "accesses", "vector"]
    lines = [columns] + [[str(row[column]) for column in columns] for row in rows]
    sizes = [max(len(line[index]) for line in lines) for index in range(len(columns))]
    for line in lines:
        print(line[0].ljust(sizes[0]), *(cell.rjust(size) for cell, size in zip(line[1:], sizes[1:])))


def table(arguments, found):
    failed = False
    rows = []
    for name, chip, text in found:
        for call in sorted(set(re.findall(r"__nv_\w+", text))):
            print(f"{name}: calls {call}, which is in no library that is linked", file=sys.stderr)
            failed = True
        for row in kernels(arguments.ptxas, chip, text):
            rows.append(row)
            for fault in broken(row, arguments):
                print(f"{row['kernel']}: {fault}", file=sys.stderr)
                failed = True
    print_table(rows)
    print(f"{len(rows)} kernels for {', '.join(sorted({chip for _, chip, _ in found}))}")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["print", "table"])
    parser.add_argument("module", nargs="?", default="-")
    parser.add_argument("--ptxas", default="ptxas")
    parser.add_argument("--registers", nargs=2, action="append", default=[], metavar=("PATTERN", "MOST"))
    parser.add_argument("--vector", action="append", default=[], metavar="PATTERN",
                        help="kernels that must move 128 bits at a time")
    parser.add_argument("--mma", action="append", default=[], metavar="PATTERN", help="kernels that must use mma.sync")
    parser.add_argument("--wgmma", action="append", default=[], metavar="PATTERN", help="kernels that must use wgmma")
    arguments = parser.parse_intermixed_args()
    text = sys.stdin.read() if arguments.module == "-" else open(arguments.module).read()
    found = list(modules(text))
    if not found:
        sys.exit("the module holds no gpu.binary with PTX")
    if arguments.what == "print":
        print("\n".join(text for _, _, text in found))
        return 0
    return 1 if table(arguments, found) else 0


if __name__ == "__main__":
    sys.exit(main())
