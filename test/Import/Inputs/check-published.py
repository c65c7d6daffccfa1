"""Imports published configs, and holds their numbers of parameters against published ones.

  check-published.py FOLDER

FOLDER has configs.tsv and configs/. Each config is answered or refused by a reason that names what is missing: neither a list of
families nor a parse error. An answer is a graph, or, where an op is missing, a count alone, which says so. A count that is known exactly
is met: that of the file, less layers that predict further tokens, and less the tower of images, which is counted here by its own formula.
"""
import csv
import glob
import json
import os
import subprocess
import sys

# Counts of other classes: the published one has a pooler and no head for masked tokens.
OTHER_CLASSES = {"google-bert--bert-base-uncased": 109514298}
# Counts of the text part by transformers 5.23, with the buffers that checkpoints have: published ones have towers, or none is known.
TEXT_PARTS = {"google--gemma-4-26B-A4B": 25233141790, "google--gemma-4-E2B-it": 4628569379, "LiquidAI--LFM2.5-VL-1.6B": 1170340608,
              "deepseek-ai--DeepSeek-V3.2": 671877944064, "zai-org--GLM-5.2": 743377019904}
# Towers and projections of Llama 4, whose sizes the file leaves to the library.
LLAMA4_TOWER = 871932416


def count_qwen_tower(vision):
    """Counts Qwen3-VL's tower, its merger and the mergers of deeper layers."""
    width, inner, out = vision["hidden_size"], vision["intermediate_size"], vision["out_hidden_size"]
    merged = width * vision["spatial_merge_size"] ** 2
    patch = vision["in_channels"] * vision["temporal_patch_size"] * vision["patch_size"] ** 2
    block = 4 * width + 4 * width * (width + 1) + width * inner + inner + inner * width + width
    merger = merged * merged + merged + merged * out + out
    deeper = len(vision["deepstack_visual_indexes"])
    return ((patch + 1) * width + vision["num_position_embeddings"] * width + vision["depth"] * block + 2 * width + merger
            + deeper * (2 * merged + merger))


def count_gemma_tower(vision, out):
    """Counts SigLIP's tower and Gemma 3's projection."""
    width, inner = vision["hidden_size"], vision["intermediate_size"]
    places = (vision["image_size"] // vision["patch_size"]) ** 2
    block = 4 * width + 4 * width * (width + 1) + width * inner + inner + inner * width + width
    return ((3 * vision["patch_size"] ** 2 + 1) * width + places * width + vision["num_hidden_layers"] * block + 2 * width
            + width * out + width)


def count_tower(config):
    if config["model_type"] == "llama4":
        return LLAMA4_TOWER
    if config["model_type"].startswith(("qwen3_vl", "qwen3_5")):
        return count_qwen_tower(config["vision_config"])
    if config["model_type"] == "gemma3":
        return count_gemma_tower(config["vision_config"], config["text_config"]["hidden_size"])
    return 0


def expected_count(name, row, config):
    """Returns the exact count of what an import has, or None where none is known."""
    for known in (OTHER_CLASSES, TEXT_PARTS):
        if name in known:
            return known[name]
    if "--gemma-4-" in name.lower():
        return None
    known = row["counted_without_mtp"] or row["published_parameters"]
    return int(known) - count_tower(config) if known.isdigit() else None


def main(folder):
    answered, counted, refused, exact, wrong = 0, 0, 0, 0, 0
    with open(os.path.join(folder, "configs.tsv")) as table:
        rows = {row["name"]: row for row in csv.DictReader(table, delimiter="\t")}
    for path in sorted(glob.glob(os.path.join(folder, "configs", "*.json"))):
        name = os.path.basename(path)[: -len(".json")]
        result = subprocess.run(["llmmem-import", path, "--count-parameters"], capture_output=True, text=True)
        with open(path) as text:
            config = json.load(text)
        if result.returncode == 0:
            answered += 1
            expected = expected_count(name, rows[name], config)
            counted += "its parameters are counted, and no graph is built" in result.stderr
            if expected is not None and config.get("vision_config", True):
                exact += 1
                if int(result.stdout) != expected:
                    wrong += 1
                    print(f"{name}: {result.stdout.strip()} parameters, published are {expected}")
        elif result.returncode == 1 and ("not supported" in result.stderr):
            refused += 1
        else:
            wrong += 1
            print(f"{name}: no reason: {result.stderr.strip()}")
    print(f"{answered + refused} configs: {answered} answered, {counted} of them counted alone, {exact} counts exact, "
          f"{refused} refused by what is missing")
    return 1 if wrong else 0


sys.exit(main(sys.argv[1]))
