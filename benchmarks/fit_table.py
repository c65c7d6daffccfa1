#!/usr/bin/env python3
"""What fits which card, as a Markdown table: fit_table.py [--tools DIR] [--seq N] [--only TEXT] [--seconds S]

A line for each of ten public models and each of four cards, by what llmmem-fit answers of it in bf16 with AdamW: whether one
sequence trains, the bytes that are resident, the fewest bytes that a plan was found for, the batch of the most modelled tokens
a second, the largest, the longest sequence at batch 1, and the seconds that the answer took: of the wall, and of the
processor. Cards are bytes alone, of which llmmem-fit keeps 1 GB back, and times are modelled for an H100. Where resident bytes
exceed the card, a column has the first way to train that was found to fit.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MODELS = ("gpt2", "gpt2-xl", "qwen2.5-0.5b", "llama-3.2-1b", "pythia-1.4b", "gemma-2b", "phi-2", "mistral-7b-v0.3", "llama-3-8b",
          "llama-3-70b")
CARDS = ("24GB", "40GB", "80GB", "141GB")


def ask(tool, model, card, options):
    """Returns the answer, the wall-clock seconds, and those of the processor."""
    command = [tool, os.path.join(ROOT, "examples", "configs", model + ".json"), "--gpu", card, "--dtype", "bf16", "--json"]
    for flag, given in (("--seq", options.seq), ("--seconds", options.seconds)):
        if given is not None:
            command += [flag, str(given)]
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    wall, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 2):
        sys.exit(done.stderr)
    return json.loads(done.stdout), wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def size(count):
    return f"{count / 1e9:.2f} GB" if count else ""


def way_out(answer):
    for relief in answer["reliefs"]:
        if relief["fits"]:
            return f"`{relief['flags']}`"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", default=os.path.join(ROOT, "build", "bin"))
    parser.add_argument("--seq", type=int, help="tokens (default: as llmmem-fit, 4096 or the most that the model has)")
    parser.add_argument("--only", default="", help="models whose names hold this text")
    parser.add_argument("--seconds", type=float, default=10, help="of each search (default: 10)")
    options = parser.parse_args()
    print("| model | card | tokens | trains | resident | least | fastest batch | largest | longest sequence | else | wall | processor |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for model in MODELS:
        if options.only not in model:
            continue
        for card in CARDS:
            answer, wall, processor = ask(os.path.join(options.tools, "llmmem-fit"), model, card, options)
            print(f"| {model} | {card} | {answer['seq']} | {'yes' if answer['fits'] else 'no'} | {size(answer['resident_bytes'])} | "
                  f"{size(answer['least_bytes'])} | {(answer['recommended'] or {}).get('batch', '')} | "
                  f"{answer['largest_batch'] or ''} | {answer['longest_sequence'] or ''} | {way_out(answer)} | {wall:.1f} s | "
                  f"{processor:.1f} s |", flush=True)


if __name__ == "__main__":
    main()
