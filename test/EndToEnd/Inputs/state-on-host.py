"""Trains a small model whose optimizer state lies on the host between steps, and demands the bits of the run that has it on
the device, the ledger of both memories, and what the run measures.

  state-on-host.py folder text config.json [flags of llmmem-import]
"""
import os
import sys

import chain

PRICES = ["--checkpoint-device=cpu", "--checkpoint-seconds=0.2"]
HOST = ["--optimizer-on=host", "--link=20GB/s"]


def main(folder, text, config, *flags):
    os.makedirs(folder, exist_ok=True)
    model = os.path.join(folder, "model.mlir")
    data = ["--data", text, "--steps", "3", "--seed", "7", "--optimize=false"]
    step = lambda name: os.path.join(folder, name + ".mlir")
    chain.import_model(config, model, *flags)
    report = chain.plan(model, step("device"), *PRICES, "--checkpoint-policy=none")
    expected, state = chain.Training(step("device"), *data).bits(), report["resident"]["optimizer_state"]
    least = chain.needed(chain.plan(model, step("least"), *PRICES, *HOST, "--checkpoint-budget=min"))
    if not least < chain.needed(report) - state:
        chain.stop("the state is no smaller part of what is needed")
    plans = {"none": ["--checkpoint-policy=none"], "least": ["--checkpoint-budget=%d" % least],
             "both": ["--checkpoint-budget=%d" % least, "--host-budget=16MB"]}
    for name, asked in plans.items():
        report = chain.plan(model, step(name), *PRICES, *HOST, *asked)
        host = report["host"]
        if report["resident"]["optimizer_state"] != 0 or host["resident"] != state:
            chain.stop("%s: %d bytes of state, of which %d are on the host" % (name, state, host["resident"]))
        if min(host["up_bytes"], host["down_bytes"]) < state:
            chain.stop("%s: not all of the state comes and leaves" % name)
        training = chain.Training(step(name), *data, "--poison")
        chain.check_bits(name, training, expected, "those with the state on the device")
        chain.check_both_memories(name, training, report)
    if host["arena"] == 0:
        chain.stop("no activation leaves in addition to the state")
    chain.check_micro_batches(model, step("parts"), PRICES, HOST, data, "those with the state on the device")
    print("%d runs have the bits of the one with its state on the device" % len(plans))


main(*sys.argv[1:])
