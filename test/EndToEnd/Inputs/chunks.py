"""Runs a step with its loss head in chunks of one granule, two and all: the bits are equal, and more tokens hold more.

  chunks.py folder text config.json [flags of llmmem-import]
"""
import os
import sys

import chain

GRANULE = 512


def main(folder, text, config, *flags):
    os.makedirs(folder, exist_ok=True)
    model, data = os.path.join(folder, "model.mlir"), ["--data", text, "--steps", "2", "--seed", "7"]
    data += chain.quick(flags, unless="bf16")
    chain.import_model(config, model, *flags)
    expected, last, runs = {}, 0, 0 # expected: for each number of threads, as a library of products may differ
    for chunk in (str(GRANULE), str(2 * GRANULE), "whole"):
        step = os.path.join(folder, chunk + ".mlir")
        report = chain.plan(model, step, "--checkpoint-policy=none", "--loss-chunk=" + chunk)
        if [entry["tokens"] for entry in report["chunks"]] != [report["chunks"][0]["of"] if chunk == "whole" else
                                                               int(chunk)]:
            chain.stop("chunks of %s: the report says %s" % (chunk, report["chunks"]))
        if report["arena"] <= last:
            chain.stop("chunks of %s hold no more than smaller ones" % chunk)
        last = report["arena"]
        for threads in ("1", "2"):
            training = chain.Training(step, *data, "--threads", threads, files=step + threads)
            if training.lines[0]["arena_measured"] != report["arena"]:
                chain.stop("chunks of %s: arena of %d bytes, measured %d" %
                           (chunk, report["arena"], training.lines[0]["arena_measured"]))
            for what, bits in training.bits().items():
                if bits != expected.setdefault((threads, what), bits):
                    chain.stop("chunks of %s, %s threads: %s differ" % (chunk, threads, what))
            runs += 1
        chain.remove(step)
    print(runs, "runs have the same bits")


main(*sys.argv[1:])
