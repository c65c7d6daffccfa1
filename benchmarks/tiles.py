#!/usr/bin/env python3
"""What a product by wgmma can reach at most on an H100 by roofline.py's rates, over all tiles, parts and shared tiles: tiles.py ROWS COLUMNS TERMS

Tiles have whole 64 rows (a wgmma's), whole 8 columns, and sums that fit the registers of two warpgroups; tensor maps copy B by 64
columns. Terms are whole, or in parts of clusters, whose blocks add each other's sums; two blocks share B or A, or none.
Prints the fastest, in cycles of the busiest multiprocessor and percent of the datasheet's peak. It is a model; the tiles that
llmmem has are chosen by lib/Targets/WarpgroupTiles.cpp.
"""

import argparse
import itertools
import math

import roofline

CHIP = roofline.CHIPS["h100"]
STEP = 64  # terms
MOST_SUMS = 256 * 192  # f32 in the registers of two warpgroups, in addition to what they multiply
MOST_CLUSTER = 8


def cycles(product, tile, parts, shares):
    """Returns the cycles of the busiest multiprocessor, or None where there are no pairs, or no such cluster."""
    (rows, columns, terms), (a, b) = product, tile
    tiles = math.ceil(rows / a), math.ceil(columns / b)
    cluster = parts * (2 if shares else 1)
    if cluster > MOST_CLUSTER or (shares and tiles[0] % 2 and tiles[1] % 2):
        return None
    copied = (a + math.ceil(b / STEP) * STEP) * STEP * 2
    read = a / STEP * (STEP + b) * STEP * 2
    step = max(a * b * STEP / CHIP.wgmma, copied / (CHIP.l2 if shares or parts == 1 else CHIP.apart), (copied + read) / roofline.SHARED_BYTES)
    handed = a * b * 4 * (parts - 1) / parts
    adding = CHIP.adding(handed) if parts > 1 else 0
    turns = math.ceil(math.prod(tiles) * parts / CHIP.at_once(cluster))
    return turns * (math.ceil(terms / STEP / parts) * step + CHIP.latency + a * b * 2 / parts / CHIP.l2 + adding)


def launches(product):
    """Returns (cycles, tile, parts, whether two blocks share a tile) of all, the fastest first."""
    tiles = [(a, b) for a, b in itertools.product(range(64, 385, 64), range(8, 513, 8)) if a * b <= MOST_SUMS]
    modelled = ((cycles(product, tile, parts, shares), tile, parts, shares)
                for tile in tiles for parts in range(1, MOST_CLUSTER + 1) for shares in (False, True))
    return sorted(launch for launch in modelled if launch[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("rows", "columns", "terms"):
        parser.add_argument(name, type=int)
    parser.add_argument("--best", type=int, default=5, help="how many to print (default: 5)")
    arguments = parser.parse_args()
    product = arguments.rows, arguments.columns, arguments.terms
    ideal = math.prod(product) / CHIP.multiprocessors / CHIP.peak
    print("| tile | parts | two blocks share a tile | cycles | of the peak |\n|---|---:|---|---:|---:|")
    for took, (a, b), parts, shares in launches(product)[:arguments.best]:
        print(f"| {a} x {b} | {parts} | {'yes' if shares else 'no'} | {took:.0f} | {ideal / took:.1%} |")


if __name__ == "__main__":
    main()
