"""A model of how long GPU kernels take, from counts alone: no GPU, no measurement of ours.

A launch is described by what `--report-kernel-counts` writes (mma, instructions, passes of shared memory, sectors, blocks,
threads, shared bytes, bytes of its buffers) and by the registers that ptxas gives it. The model, for one multiprocessor:

    tensor   mma * 2048 multiply-adds / rate of mma.sync          \\  a warp waits for its own mma before it goes on with
    alu      other instructions / instructions of 32 lanes a clock /  numbers, so these two add up
    shared   passes, one of 128 bytes a clock
    l2       sectors * 32 bytes / share of the second-level cache's bandwidth
    dram     least bytes / share of the memory's bandwidth
    exposed  what no other block hides: the first copies' latency and the last stores of a block, per resident block

    cycles = max(tensor + alu, shared, l2, dram) + exposed

`check_published()` holds it against kernels that others have measured, described by their tiles.
"""

import argparse
import json
import math
import re
import sys

WARP, MMA, SECTOR = 32, 16 * 8 * 16, 32
SCHEDULERS = 4


class Chip:
    """Rates of one GPU at its boost clock.

    mma_sync: multiply-adds of bf16 a clock and multiprocessor that mma.sync reaches. On Hopper it is 62.9 % of wgmma's
    (Luo et al., "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture via Microbenchmarking", 2024).
    """

    def __init__(self, name, multiprocessors, clock, peak, mma_share, lanes, l2, dram, shared):
        self.name, self.multiprocessors, self.clock, self.lanes, self.shared = name, multiprocessors, clock, lanes, shared
        self.mma_sync = peak * mma_share
        self.l2, self.dram = (bandwidth / clock / multiprocessors for bandwidth in (l2, dram))

    registers, threads, most_blocks = 65536, 2048, 32
    latency = 1000  # cycles from a copy from DRAM to its data, under load

    def ceiling(self):
        """FLOP/s of mma.sync."""
        return 2 * self.mma_sync * self.multiprocessors * self.clock


# Whitepapers of A100 and H100: multiprocessors, boost clocks, multiply-adds a clock, shared bytes, DRAM (nine tenths of the
# datasheet's bandwidth, which copies reach); second-level cache: 5120 bytes a clock on A100; on H100 as measured by
# Chips and Cheese, "Nvidia's H100: Funny L2, and Tons of Bandwidth", 2023.
CHIPS = {
    "a100": Chip("A100 SXM 80 GB", 108, 1.41e9, 1024, 1.0, 64, 5120 * 1.41e9, 0.9 * 2.039e12, 164 << 10),
    "h100": Chip("H100 SXM", 132, 1.83e9, 2048, 0.629, 128, 5.6e12, 0.9 * 3.352e12, 228 << 10),
    "h200": Chip("H200 SXM", 132, 1.83e9, 2048, 0.629, 128, 5.6e12, 0.9 * 4.8e12, 228 << 10),
}


def resident_blocks(chip, threads, shared_bytes, registers):
    """Blocks that a multiprocessor has at once. Registers are given to warps in units of 256, and a block of 1 KiB of
    shared memory goes to the system (CUDA's occupancy calculator)."""
    warps = math.ceil(threads / WARP)
    of_warp = math.ceil(registers * WARP / 256) * 256
    return max(1, min(chip.most_blocks, chip.threads // (warps * WARP), chip.registers // (of_warp * warps),
                      chip.shared // (shared_bytes + 1024)))


def model(chip, launch, registers=128):
    """Seconds of one launch, the cycles of each part on one multiprocessor, and the blocks that are resident there."""
    blocks = launch["blocks"]
    turns = math.ceil(blocks / chip.multiprocessors)  # blocks of the busiest multiprocessor
    share = turns / blocks
    resident = min(turns, resident_blocks(chip, launch["threads"], launch["shared_bytes"], registers))
    moved = launch["sectors"] * SECTOR
    # Parts of sectors meet in the second-level cache.
    written = sum(site["fewest"] for site in launch["sites"] if site["memory"] == "global" and site["write"]) * SECTOR
    cycles = {
        "tensor": share * launch["mma"] * MMA / chip.mma_sync,
        "alu": share * (launch["instructions"] - launch["mma"]) / (chip.lanes / WARP),
        "issue": share * launch["instructions"] / SCHEDULERS,
        "shared": share * launch["passes"],
        "l2": moved / chip.multiprocessors / chip.l2,
        "dram": min(launch["buffer_bytes"], moved) / chip.multiprocessors / chip.dram,
        "exposed": (turns * chip.latency + share * written / chip.dram) / resident if launch["mma"] else chip.latency,
    }
    together = max(cycles["tensor"] + cycles["alu"], cycles["issue"], cycles["shared"], cycles["l2"], cycles["dram"])
    return (together + cycles["exposed"]) / chip.clock, cycles, resident


def share_of_ceiling(chip, launch, registers=128):
    """Of mma.sync's rate, counting every mma of the launch."""
    seconds, _, _ = model(chip, launch, registers)
    return 2 * launch["mma"] * MMA / seconds / chip.ceiling()


def share_of_dram(chip, launch, registers=128):
    """Of the time of moving each buffer that is accessed once, at the rate that copies reach."""
    seconds, _, _ = model(chip, launch, registers)
    return launch["buffer_bytes"] / (chip.dram * chip.multiprocessors * chip.clock) / seconds


#
# Published kernels
#

def product_launch(rows, columns, inner, tile, warp_tile, registers):
    """A product by cp.async, ldmatrix and mma.sync: a block computes `tile`, each warp `warp_tile`."""
    blocks = math.ceil(rows / tile[0]) * math.ceil(columns / tile[1])
    warps = tile[0] * tile[1] // (warp_tile[0] * warp_tile[1])
    steps = math.ceil(inner / 16)
    read = warps * sum(warp_tile) * 32  # bytes of shared memory a step of 16
    copied = sum(tile) * 32
    stored = tile[0] * tile[1] * 2
    mma = blocks * steps * tile[0] * tile[1] * 16 / MMA
    return {"blocks": blocks, "threads": warps * WARP, "shared_bytes": 3 * 2 * copied, "mma": mma,
            "instructions": mma + blocks * (steps * (read + copied) / 512 + tile[0] * tile[1] / WARP * 2),
            "passes": blocks * steps * (read + copied) / 128, "sectors": blocks * (steps * copied + stored) / SECTOR,
            "buffer_bytes": 2 * (rows * inner + inner * columns + rows * columns),
            "sites": [{"memory": "global", "write": True, "fewest": blocks * stored / SECTOR}]}, registers


def attention_launch(batch_heads, sequence, size, queries, keys, warps, registers):
    """FlashAttention-2 forward without a mask: a warp has its rows of queries, all read each tile of keys and values. For a
    score: a fused multiply-add with the maximum, a comparison, ex2 (a quarter of the rate of other instructions on sm_80,
    so four), an addition, half of a conversion."""
    blocks, tiles = batch_heads * math.ceil(sequence / queries), sequence // keys
    scores = blocks * tiles * queries * keys
    mma = 2 * scores * size / MMA
    read = warps * 2 * keys * size * 2  # bytes of shared memory a tile
    copied = 2 * keys * size * 2
    out = batch_heads * sequence * size * 2
    return {"blocks": blocks, "threads": warps * WARP, "shared_bytes": (queries + 2 * keys) * size * 2, "mma": mma,
            "instructions": mma + scores * 7.5 / WARP + blocks * tiles * (read + copied) / 512,
            "passes": blocks * tiles * (read + copied) / 128, "sectors": (blocks * tiles * copied + 2 * out) / SECTOR,
            "buffer_bytes": 4 * out, "sites": [{"memory": "global", "write": True, "fewest": out / SECTOR}]}, registers


# (what, chip, launch, published FLOP/s, FLOP counted there)
PUBLISHED = [
    # Bekman, "Machine Learning Engineering", table of the maximum achievable matmul FLOPS: cuBLAS in bf16 on A100 SXM,
    # whose kernels on sm_80 have tiles of 256 x 128 by warps of 64 x 64.
    ("cuBLAS, bf16, 6912 x 16384 x 2048", "a100", product_launch(6912, 16384, 2048, (128, 256), (64, 64), 232), 267.9e12,
     2 * 6912 * 16384 * 2048),
    # Dao, "FlashAttention-2", 2023, figures 4 and 5 and the text ("up to 230 TFLOPs/s", 73 % of the peak): forward, no mask,
    # heads of 128, 16384 tokens; 16 heads. Its kernel for sm_80 has 128 queries, 64 keys, four warps.
    ("FlashAttention-2 forward, heads of 128, 16384 tokens", "a100", attention_launch(16, 16384, 128, 128, 64, 4, 255),
     230e12, 4 * 16 * 16384**2 * 128),
]
TOLERANCE = 0.15


def check_published():
    """(what, chip, published, modelled, error) of each published kernel."""
    rows = []
    for what, name, (launch, registers), published, flop in PUBLISHED:
        modelled = flop / model(CHIPS[name], launch, registers)[0]
        rows.append((what, CHIPS[name].name, published, modelled, modelled / published - 1))
    return rows


def print_published():
    print("| kernel | on | published TFLOP/s | modelled | error |\n|---|---|---:|---:|---:|")
    rows = check_published()
    for what, chip, published, modelled, error in rows:
        print(f"| {what} | {chip} | {published / 1e12:.1f} | {modelled / 1e12:.1f} | {error:+.1%} |")
    return any(abs(row[-1]) > TOLERANCE for row in rows)


def print_launches(chip, launches, registers, least, least_dram):
    """Kernels by what bounds them; whether one is below what is demanded of it."""
    failed = False
    print(f"\nModelled on {chip.name}; not measured.\n\n| kernel | us | of mma.sync's rate | of DRAM's |\n|---|---:|---:|---:|")
    for launch in launches:
        share = share_of_ceiling(chip, launch, registers) if launch["mma"] else None
        moved = share_of_dram(chip, launch, registers)
        print(f"| {launch['kernel']} | {model(chip, launch, registers)[0] * 1e6:.0f} | "
              f"{'-' if share is None else format(share, '.0%')} | {moved:.0%} |")
        for found, demands in ((share, least), (moved, least_dram)):
            for pattern, wanted in demands:
                if found is not None and re.search(pattern, launch["kernel"]) and found < float(wanted):
                    print(f"{launch['kernel']}: {found:.1%}, expected at least {float(wanted):.0%}", file=sys.stderr)
                    failed = True
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("counts", nargs="?", help="what --report-kernel-counts=json= wrote")
    parser.add_argument("--chip", choices=CHIPS, default="h100")
    parser.add_argument("--registers", type=int, default=128, help="of each thread, if ptxas has not said (default: 128)")
    parser.add_argument("--least", nargs=2, action="append", default=[], metavar=("PATTERN", "SHARE"),
                        help="of mma.sync's rate, that kernels of such names must have")
    parser.add_argument("--least-dram", nargs=2, action="append", default=[], metavar=("PATTERN", "SHARE"),
                        help="the same of the rate at which copies move each buffer once")
    arguments = parser.parse_args()
    failed = print_published()
    if arguments.counts:
        with open(arguments.counts) as file:
            launches = json.load(file)["launches"]
        failed |= print_launches(CHIPS[arguments.chip], launches, arguments.registers, arguments.least, arguments.least_dram)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
