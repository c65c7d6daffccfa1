"""Trains a small model whose updates run on the host, and demands the bits of the run that has them on the device, the ledger of both
memories and of the link, and what the run measures.

  updates-on-host.py folder text config.json [--device=emulate] [flags of llmmem-import]
"""
import os
import sys

import chain

PRICES = ["--checkpoint-device=cpu", "--checkpoint-seconds=0.2"]
STATE = ["--optimizer-on=host", "--link=20GB/s", "--link-latency=0"]
HOST = [*STATE, "--update-on=host"]


def main(folder, text, config, *flags):
    os.makedirs(folder, exist_ok=True)
    model = os.path.join(folder, "model.mlir")
    device = [flag for flag in flags if flag.startswith("--device=")]
    flags = [flag for flag in flags if flag not in device]
    data = ["--data", text, "--steps", "2", "--seed", "7", "--optimize=false", *device]
    step = lambda name: os.path.join(folder, name + ".mlir")
    chain.import_model(config, model, *flags)
    report = chain.plan(model, step("device"), *PRICES, "--checkpoint-policy=none")
    expected, resident = chain.Training(step("device"), *data).bits(), report["resident"]
    travels = chain.plan(model, step("travels"), *PRICES, *STATE, "--checkpoint-policy=none")
    least = chain.needed(chain.plan(model, step("least"), *PRICES, *HOST, "--checkpoint-budget=min"))
    plans = {"none": ["--checkpoint-policy=none"], "leaving": ["--checkpoint-budget=%d" % least, "--host-budget=16MB"],
             "parameters": ["--checkpoint-policy=none", "--parameters-on=host"]}
    if "f32" in flags:  # what differs there is what is copied to the host
        plans = {"none": plans["none"]}
    for name, asked in plans.items():
        report = chain.plan(model, step(name), *PRICES, *HOST, *asked)
        host, state = report["host"], resident["optimizer_state"]
        onHost = state + 8 + (resident["param"] if name == "parameters" else 0)  # the learning rate and the step are there
        if report["resident"]["optimizer_state"] != 0 or host["resident"] != onHost:
            chain.stop("%s: %d bytes on the host, expected %d" % (name, host["resident"], onHost))
        if host["updates"] == 0 or host["updates_ns"] == 0:
            chain.stop("%s: no update runs on the host" % name)
        if name == "none":
            # A gradient for each parameter, and in f32 that itself; the norm is one number more.
            ups = resident["param"] if "bf16" in flags else 2 * resident["param"]
            if not ups <= host["up_bytes"] <= ups + 4 or host["down_bytes"] != resident["param"]:
                chain.stop("%d bytes are copied to the host and %d back, for %d of parameters" % (
                    host["up_bytes"], host["down_bytes"], resident["param"]))
            if chain.needed(report) > chain.needed(travels):
                chain.stop("the device needs more than where state travels")
        training = chain.Training(step(name), *data, *([] if device else ["--poison"]))
        chain.check_bits(name, training, expected, "those with updates on the device")
        chain.check_both_memories(name, training, report)
    if "f32" in flags:
        return print("the run in f32 has the bits of the one with its updates on the device")
    chain.check_micro_batches(model, step("parts"), PRICES, HOST, data, "those with updates on the device")
    print("%d runs have the bits of the one with its updates on the device" % len(plans))


main(*sys.argv[1:])
