"""Runs a small model whose values leave for the host, and demands the bits of the unplanned one, both arenas as planned,
and a slow link that changes times alone.

  offload.py folder text config.json [flags of llmmem-import]

Prints a line for each plan, and last how many runs agreed.
"""
import os
import sys

import chain

# Prices of the machine that runs the steps, and two links: by one ops are recomputed in addition to the copies, by the other none.
PRICES = ["--checkpoint-device=cpu", "--checkpoint-seconds=0.2"]
HOST = ["--host-budget=1GB", "--link-latency=100"]
LINKS = ["1GB/s", "20GB/s"]
STEPS = 3
SLOW = 4_000_000  # bytes per second


def check_memory(name, report, budget, training):
    """Checks that the report fits the budget, and the run touched what the report says, in both memories."""
    if chain.needed(report) > budget:
        chain.stop("%s: the report is over its budget" % name)
    for line in training.lines:
        for what, planned in (("arena", report["arena"]), ("host_arena", report["host"]["arena"])):
            if (line[what], line[what + "_measured"]) != (planned, planned):
                chain.stop("%s: %s of %d bytes, measured %d" % (name, what, planned, line[what + "_measured"]))


def check_leaving(name, report):
    """Checks that the report says which saved values leave, and lists their copies."""
    host = report["host"]
    offloaded = [tensor["name"] for tensor in report["saved"]["tensors"] if tensor["decision"] == "offload"]
    leaving = {entry["name"] for entry in host["leaving"]}
    if not offloaded or not set(offloaded) <= leaving:
        chain.stop("%s: %s are offloaded, and %s leave" % (name, offloaded, leaving))
    down = sum(entry["bytes"] * entry["copies_down"] for entry in host["leaving"])
    if down != host["down_bytes"] or host["arena"] > host["budget"]:
        chain.stop("%s: what leaves is not what the report counts" % name)
    if report["overlap"]["started"] != sum(e["copies_up"] + e["copies_down"] for e in host["leaving"]):
        chain.stop("%s: a copy is not started" % name)


def check_bits(name, expected, training):
    for what, bits in training.bits().items():
        if bits != expected[what]:
            chain.stop("%s: %s differ from the unplanned step's" % (name, what))


def check_slow(name, report, training):
    """Checks that copies of one direction run one after another, so that a step takes as long as they do."""
    least = max(report["host"]["up_bytes"], report["host"]["down_bytes"]) / SLOW
    for line in training.lines:
        if line["seconds"] < least:
            chain.stop("%s: %.3f s with copies of %.3f s" % (name, line["seconds"], least))


def main(folder, text, config, *flags):
    os.makedirs(folder, exist_ok=True)
    model = os.path.join(folder, "model.mlir")
    data = ["--data", text, "--steps", str(STEPS), "--seed", "7"] + chain.quick(flags, unless="--dropout")
    step = lambda name: os.path.join(folder, name + ".mlir")
    chain.import_model(config, model, *flags)
    unplanned = chain.plan(model, step("none"), *PRICES, "--checkpoint-policy=none")
    expected = chain.Training(step("none"), *data).bits()
    least = chain.needed(chain.plan(model, step("min"), *PRICES, "--checkpoint-budget=min"))
    runs, modes = 0, [["--poison"], ["--link-throttle=%dB/s" % SLOW]]
    for budget, link, mode in zip(chain.spread(least, chain.needed(unplanned), 2), LINKS, modes):
        name = str(budget)
        alone = chain.plan(model, step(name + ".alone"), *PRICES, "--checkpoint-budget=" + name)
        report = chain.plan(model, step(name), *PRICES, *HOST, "--link=" + link, "--checkpoint-budget=" + name)
        if (report["recompute"]["ops"] > 0) != (link == LINKS[0]):
            chain.stop("%s: %d ops run again over a link of %s" % (name, report["recompute"]["ops"], link))
        check_leaving(name, report)
        if report["step"]["planned_time_ns"] > alone["step"]["planned_time_ns"]:
            chain.stop("%s: the plan is slower than that without a host" % name)
        print("budget %d: %d values leave, %d ops recomputed instead of %d" % (
            budget, len(report["host"]["leaving"]), report["recompute"]["ops"], alone["recompute"]["ops"]))
        training = chain.Training(step(name), *data, *mode)
        check_bits("budget %s %s" % (name, mode[0]), expected, training)
        check_memory("budget " + name, report, budget, training)
        if mode != modes[0]:
            check_slow("budget " + name, report, training)
        runs += 1
    print("%d runs have the bits of the unplanned one" % runs)


main(*sys.argv[1:])
