"""Trains a small model whose parameters lie on the host, and demands the bits of the run that has them on the device, the ledger
of both memories, and what the run measures.

  parameters-on-host.py folder text config.json [flags of llmmem-import]
"""
import os
import sys

import chain

PRICES = ["--checkpoint-device=cpu", "--checkpoint-seconds=0.2"]
LINK = ["--link=20GB/s", "--link-latency=0"]
ALL = ["--parameters-on=host", "--optimizer-on=host", *LINK]
PLANS = {"parameters": ["--checkpoint-policy=none", "--parameters-on=host", *LINK],
         "again": ["--checkpoint-policy=full", *ALL],
         "least": ["--checkpoint-budget=min", *ALL],
         "leaving": ["--checkpoint-budget=min", *ALL, "--host-budget=16MB"]}


def main(folder, text, config, *flags):
    os.makedirs(folder, exist_ok=True)
    model = os.path.join(folder, "model.mlir")
    data = ["--data", text, "--steps", "3", "--seed", "7", "--optimize=false"]
    step = lambda name: os.path.join(folder, name + ".mlir")
    chain.import_model(config, model, *flags)
    report = chain.plan(model, step("device"), *PRICES, "--checkpoint-policy=none")
    expected, resident = chain.Training(step("device"), *data).bits(), report["resident"]
    downs = {}
    for name, asked in PLANS.items():
        report = chain.plan(model, step(name), *PRICES, *asked)
        host = report["host"]
        moved = resident["param"] + (resident["optimizer_state"] if "--optimizer-on=host" in asked else 0)
        if report["resident"]["param"] != 0 or host["resident"] != moved:
            chain.stop("%s: %d bytes of parameters on the device, %d of %d on the host" % (
                name, report["resident"]["param"], host["resident"], moved))
        downs[name] = host["down_bytes"]
        training = chain.Training(step(name), *data, "--poison")
        chain.check_bits(name, training, expected, "those with the parameters on the device")
        chain.check_both_memories(name, training, report)
    # A parameter is read by the forward and the backward, and comes again for an op that runs again.
    if downs["parameters"] < 2 * resident["param"] - 1 and "--lora-rank" not in flags:
        chain.stop("parameters come for %d bytes only" % downs["parameters"])
    if downs["again"] <= downs["parameters"]:
        chain.stop("what runs again finds its parameters without a copy")
    print("%d runs have the bits of the one with its parameters on the device" % len(PLANS))


main(*sys.argv[1:])
