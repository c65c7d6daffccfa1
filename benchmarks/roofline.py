"""A model of how long GPU kernels take, from counts alone: no GPU, no measurement of ours.

A launch is described by what `--report-kernel-counts` writes (mma, wgmma in as many mma, instructions, passes of shared memory, sectors, blocks,
threads, shared bytes, bytes of its buffers) and by the registers that ptxas gives it. The model, for one multiprocessor:

    tensor   mma * 2048 multiply-adds / rate of mma.sync or wgmma \\  a warp waits for its own mma before it goes on with
    alu      other instructions / instructions of 32 lanes a clock /  numbers, so these two add up
    special  ex2 and rcp / such instructions of 32 lanes a clock
    shared   passes, one of 128 bytes a clock
    l2       sectors * 32 bytes, in each block that a copy brings them to / what one multiprocessor gets of the second-level cache;
             where each multiprocessor has at most one block, those of the block with most, as tiles that end beyond C have fewer
    dram     least bytes / share of the memory's bandwidth
    exposed  what no other block hides: the first copies' latency and the last stores of a block, per resident block; stores
             go to the second-level cache while those of a turn fill at most half of it, else to DRAM. Of a product whose sums
             several blocks of a cluster share also what they hand each other: passes of shared memory where it is written,
             the way between multiprocessors, the barriers before and after it, and the first load's latency

Blocks of a cluster lie in one GPC, so some multiprocessors of a card have none: `Chip.at_once`.

    cycles = max(tensor + alu, special, shared, l2, dram) + exposed

wgmma overlaps with the instructions of the loop that starts it, so of these the larger part counts, and all others add. So do
those of the loop that wait for what wgmma has computed in the same turn, the softmax of attention: a barrier a turn makes
warpgroups begin it together, so all of them are at their products, and then at their softmax, at one time. There ex2 and rcp
take what 16 lanes a clock need, and overlap with nothing; elsewhere they overlap with other instructions.
A block that computes several tiles stores after each; `busiest` says how many more the busiest one computes than the average.

`check_published()` holds it against kernels that others have measured, described by their tiles.
"""

import argparse
import json
import math
import re
import sys

import device_tables

WARP, MMA, SECTOR = 32, 16 * 8 * 16, 32
SHARED_BYTES = 128  # of a pass
SCHEDULERS = 4
# Lanes a clock of ex2 and rcp (CUDA C++ Programming Guide, "Arithmetic Instructions", of 8.0 and 9.0).
SPECIAL_LANES = 16


class Chip:
    """Rates of one GPU at its boost clock, from its device table (lib/Device/Tables, whose README says where they come from).

    mma_sync, wgmma: multiply-adds of bf16 a clock and multiprocessor that mma.sync and wgmma sustain. peak: those of the datasheet.
    l2: bytes a clock that the second-level cache brings to a multiprocessor. dram: its share of the memory's bandwidth, nine tenths
    of the datasheet's, which copies reach.
    """

    most_blocks = 32  # of a multiprocessor

    def __init__(self, name, table):
        gpu, clock = table["gpu"], table["gpu"]["per_clock"]
        self.name, self.multiprocessors, self.clock = name, gpu["multiprocessors"], gpu["clock_mhz"] * 1e6
        self.registers, self.threads, self.shared, self.l2_bytes = (
            gpu[key] for key in ("registers", "threads", "shared_bytes", "l2_bytes"))
        self.gpcs = gpu.get("groups", [])
        self.lanes, self.peak, self.mma_sync, self.l2, self.latency = (
            clock[key] for key in ("lanes", "multiply_adds", "mma_multiply_adds", "cache_bytes", "copy_latency"))
        self.wgmma, self.apart, self.peer, self.meeting = (
            clock.get(key, 0) for key in ("wgmma_multiply_adds", "apart_bytes", "peer_bytes", "meeting"))
        self.dram = 0.9 * table["bytes_per_ns"] * 1e9 / self.clock / self.multiprocessors

    def at_once(self, cluster):
        """Returns the number of multiprocessors that have a block, of one block each, in clusters of so many."""
        return self.multiprocessors if cluster == 1 else sum(gpc // cluster * cluster for gpc in self.gpcs)

    def adding(self, handed, turns=1):
        """Returns the cycles in which blocks of a cluster hand each other so many bytes of sums: two barriers a turn, an arrival and an answer
        each, and the first load."""
        return handed / SHARED_BYTES + handed / self.peer + turns * self.meeting

    def ceiling(self):
        """Returns the FLOP/s of mma.sync."""
        return 2 * self.mma_sync * self.multiprocessors * self.clock

    def peak_rate(self):
        """Returns the FLOP/s of the datasheet."""
        return 2 * self.peak * self.multiprocessors * self.clock


CHIPS = {name: Chip(called, device_tables.load(name))
         for name, called in (("a100", "A100 SXM 80 GB"), ("h100", "H100 SXM"), ("h200", "H200 SXM"))}


def resident_blocks(chip, threads, shared_bytes, registers):
    """Returns the blocks that a multiprocessor has at once. Registers are given to warps in units of 256, and a block of 1 KiB of
    shared memory goes to the system (CUDA's occupancy calculator)."""
    warps = math.ceil(threads / WARP)
    of_warp = math.ceil(registers * WARP / 256) * 256
    return max(1, min(chip.most_blocks, chip.threads // (warps * WARP), chip.registers // (of_warp * warps),
                      chip.shared // (shared_bytes + 1024)))


def model(chip, launch, registers=128):
    """Returns the seconds of one launch, the cycles of each part on one multiprocessor, and the blocks that are resident there."""
    blocks = launch["blocks"]
    turns = math.ceil(blocks / chip.at_once(launch.get("cluster", 1)))  # blocks of the busiest multiprocessor
    share = turns / blocks
    resident = min(turns, resident_blocks(chip, launch["threads"], launch["shared_bytes"], registers))
    moved = launch["sectors"] * SECTOR
    arriving = moved + launch.get("multicast_sectors", 0) * SECTOR
    of_busiest = launch.get("most_sectors", 0) * SECTOR if turns == 1 else 0
    # Parts of sectors meet in the second-level cache.
    written = sum(site["fewest"] for site in launch["sites"] if site["memory"] == "global" and site["write"]) * SECTOR
    wgmma = launch.get("wgmma", 0)
    multiplies = launch["mma"] + wgmma > 0
    tiles, busiest = tiles_of_block(launch), launch.get("busiest", 1)
    share, moved = share * busiest, moved * busiest
    stores = chip.l2 if written / turns / math.ceil(tiles) <= chip.l2_bytes / 2 else chip.dram
    lanes, beside = chip.lanes / WARP, launch.get("beside_wgmma", 0)
    behind, special = launch.get("behind_wgmma", 0), WARP / SPECIAL_LANES
    special_behind = launch.get("special_behind_wgmma", 0)
    by_wgmma = max(wgmma * MMA / chip.wgmma, (beside - behind) / lanes) if wgmma else 0
    cycles = {
        "tensor": share * (launch["mma"] * MMA / chip.mma_sync + by_wgmma),
        "behind": share * ((behind - special_behind) / lanes + special_behind * special),
        "special": share * launch.get("special", 0) * special,
        "alu": share * (launch["instructions"] - launch["mma"] - beside) / lanes,
        "issue": share * launch["instructions"] / SCHEDULERS,
        "shared": share * launch["passes"],
        "l2": max(share * arriving, of_busiest) / chip.l2,
        "dram": min(launch["buffer_bytes"], moved) / chip.multiprocessors / chip.dram,
        "exposed": (turns * chip.latency + share * written / stores) / resident if multiplies else chip.latency,
        "peers": 0,
    }
    if multiplies and launch.get("peer_bytes"):
        handed = share * launch["peer_bytes"]
        cycles["shared"] -= 2 * handed / SHARED_BYTES  # written and read, which is what follows
        cycles["peers"] = chip.adding(handed, turns)
    together = max(cycles["tensor"] + cycles["behind"] + cycles["alu"],
                   *(cycles[part] for part in ("special", "issue", "shared", "l2", "dram")))
    return (together + cycles["exposed"] + cycles["peers"]) / chip.clock, cycles, resident


def tiles_of_block(launch):
    """Returns how many tiles of wgmma a block computes on the average: how often each of its warps runs a store."""
    stores = [site["requests"] for site in launch["sites"] if site["memory"] == "global" and site["write"] and "requests" in site]
    if not launch.get("wgmma") or not stores:
        return 1
    return max(1, round(max(stores) / (launch["blocks"] * launch["threads"] / WARP), 6))


def rate(chip, launch, registers=128):
    """Returns FLOP/s. It counts every mma of the launch, and of wgmma what does not lie beyond C."""
    seconds, _, _ = model(chip, launch, registers)
    return 2 * (launch["mma"] + launch.get("needed_wgmma", launch.get("wgmma", 0))) * MMA / seconds


def share_of_dram(chip, launch, registers=128):
    """Returns the time of moving each accessed buffer once, at the rate that copies reach, as a part of the launch's time."""
    seconds, _, _ = model(chip, launch, registers)
    return launch["buffer_bytes"] / (chip.dram * chip.multiprocessors * chip.clock) / seconds


#
# Published kernels
#

def product_launch(rows, columns, inner, tile, warp_tile, registers):
    """Describes a product by cp.async, ldmatrix and mma.sync: a block computes `tile`, each warp `warp_tile`."""
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


def wgmma_launch(rows, columns, inner, tile, sharing, registers):
    """Describes a product by wgmma: each warpgroup has 64 rows of `tile`, and reads its rows and all columns from shared memory. A
    tile's columns are read from the second-level cache once for `sharing` blocks."""
    blocks = math.ceil(rows / tile[0]) * math.ceil(columns / tile[1])
    warpgroups, steps = tile[0] // 64, math.ceil(inner / 16)
    read, copied, stored = warpgroups * (64 + tile[1]) * 32, sum(tile) * 32, tile[0] * tile[1] * 2
    fetched = (tile[0] + tile[1] / sharing) * 32
    beside = (1 - 1 / sharing) * tile[1] * 32
    return {"blocks": blocks, "threads": (warpgroups + 1) * 4 * WARP, "shared_bytes": 4 * 4 * copied, "mma": 0,
            "wgmma": blocks * steps * tile[0] * tile[1] * 16 / MMA,
            "instructions": blocks * (steps * warpgroups * 4 + tile[0] * tile[1] / WARP * 2),
            "beside_wgmma": blocks * steps * warpgroups * 4,
            "passes": blocks * steps * (read + copied) / 128, "sectors": blocks * (steps * fetched + stored) / SECTOR,
            "multicast_sectors": blocks * steps * beside / SECTOR,
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
    # github.com/facebookexperimental/triton, pull request 1065: hopper_gemm_ws on an H100, whose best configuration has tiles
    # of 128 x 256 and two blocks that share the columns. (Kernel 4 of fast.cu, tiles of 192 x 192, a block each, reaches
    # 635.4 at 8192^3, where the model says 735: it waits by cuda::barrier, of which the model knows nothing, and which its
    # author found to cost 20 %.)
    ("wgmma, bf16, 65536 x 1024 x 1024", "h100", wgmma_launch(65536, 1024, 1024, (128, 256), 2, 168), 676.4e12,
     2 * 65536 * 1024**2),
]
TOLERANCE = 0.15


def check_published():
    """Returns (what, chip, published, modelled, error) of each published kernel."""
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


def print_launches(chip, launches, registers, least):
    """Prints kernels by what bounds them, and returns whether one is below its limit."""
    failed = False
    print(f"\nModelled on {chip.name}; not measured.\n\n| kernel | us | of mma.sync's rate | of the peak | of DRAM's |\n"
          "|---|---:|---:|---:|---:|")
    for launch in launches:
        shares = {"dram": share_of_dram(chip, launch, registers)}
        if launch["mma"] + launch.get("wgmma", 0):
            reached = rate(chip, launch, registers)
            shares |= {"mma": reached / chip.ceiling(), "peak": reached / chip.peak_rate()}
        columns = " | ".join(format(shares[of], ".0%") if of in shares else "-" for of in ("mma", "peak", "dram"))
        print(f"| {launch['kernel']} | {model(chip, launch, registers)[0] * 1e6:.0f} | {columns} |")
        for of, pattern, wanted in least:
            if of in shares and re.search(pattern, launch["kernel"]) and shares[of] < float(wanted):
                print(f"{launch['kernel']}: {shares[of]:.1%}, expected at least {float(wanted):.0%}", file=sys.stderr)
                failed = True
    return failed


def print_measured(chip, launches, registers, path, near):
    """Compares what a device took for whole ops with the model; returns whether one is further from it than it may be."""
    failed = False
    with open(path) as file:
        table = json.load(file)
    print(f"\nMeasured: {table['source']}\n\n| op | us | modelled | error |\n|---|---:|---:|---:|")
    for host, op, most in near:
        took = [ns for key, ns in table["measured"].items() if key.startswith(op)]
        own = [launch for launch in launches if launch["host"] == host]
        if len(took) != 1 or not own:
            sys.exit(f"{len(took)} measured ops begin with {op}, {len(own)} launches are {host}'s")
        us = 1e6 * sum(launch["launches"] * model(chip, launch, registers)[0] for launch in own)
        error = us * 1e3 / took[0] - 1
        print(f"| {op} | {took[0] / 1e3:.0f} | {us:.0f} | {error:+.0%} |")
        if abs(error) > float(most):
            print(f"{op}: the model errs by {error:+.0%}, expected at most {float(most):.0%}", file=sys.stderr)
            failed = True
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("counts", nargs="?", help="what --report-kernel-counts=json= wrote")
    parser.add_argument("--chip", choices=CHIPS, default="h100")
    parser.add_argument("--registers", type=int, default=128, help="of each thread, if ptxas has not said (default: 128)")
    parser.add_argument("--least", nargs=2, action="append", default=[], metavar=("PATTERN", "SHARE"),
                        help="of mma.sync's rate, that kernels of such names must have")
    parser.add_argument("--least-of-peak", nargs=2, action="append", default=[], metavar=("PATTERN", "SHARE"),
                        help="the same of the datasheet's rate")
    parser.add_argument("--least-dram", nargs=2, action="append", default=[], metavar=("PATTERN", "SHARE"),
                        help="the same of the rate at which copies move each buffer once")
    parser.add_argument("--measured", help="a device table, whose measured ops --near compares with the model")
    parser.add_argument("--near", nargs=3, action="append", default=[], metavar=("HOST", "OP", "SHARE"),
                        help="how far the launches of a host function may be from the op whose key begins so")
    arguments = parser.parse_args()
    failed = print_published()
    if arguments.counts:
        with open(arguments.counts) as file:
            launches = json.load(file)["launches"]
        least = [(of, *pair) for of, pairs in (("mma", arguments.least), ("peak", arguments.least_of_peak), ("dram", arguments.least_dram))
                 for pair in pairs]
        chip = CHIPS[arguments.chip]
        failed |= print_launches(chip, launches, arguments.registers, least)
        if arguments.measured:
            failed |= print_measured(chip, launches, arguments.registers, arguments.measured, arguments.near)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
