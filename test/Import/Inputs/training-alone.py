"""Imports a published config of each family for inference, with what is for training alone as published, 0 and 0.5: the programs are
equal byte for byte and sample nothing, while a step of training has what its config says.

  training-alone.py CONFIGS FOLDER

Families and their keys are those of `llmmem-import --help`, so that a new one is tested here, too. Prints a line for each family,
and last how many there are.
"""
import json
import os
import re
import subprocess
import sys

KEY = re.compile("drop|jitter|noise")
SAMPLES = re.compile(r"dropout|seed|[{ ]p = (?!0\.0+e)|llm\.training|cross_entropy|balance_loss|router_load|%targets|%labels")
FORWARD = (["--mode", "forward", "--batch", "2", "--seq", "16"], ["--mode", "forward", "--batch", "2", "--seq", "16", "--attention", "unfused"])
CACHED = (["--mode", "prefill", "--batch", "2", "--seq", "8"], ["--mode", "decode", "--batch", "2"])
CONTEXT = 32
TRAINING = ["--batch", "2", "--seq", "16"]
FEW = ["--layers", "2", "--dtype", "f32"]
WITHOUT_CACHES = ("bert", "t5", "vit")
WITHOUT_UNFUSED = ("gpt_oss", "mimo_v2_flash")


def stop(message):
    sys.exit("failed: " + message)


def families():
    """Returns the keys of each family that say something of training alone."""
    text = subprocess.run(["llmmem-import", "--help"], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^  ([\w-]+)\n    needs (.*)\n    may have (.*)$", text[text.index("FAMILIES"):], re.MULTILINE)
    return {name: [key for key in f"{needs}, {may}".split(", ") if KEY.search(key)] for name, needs, may in found}


def published(folder):
    """Returns a config of each family that the folder has, of several the one whose name says least."""
    configs = {}
    for name in sorted((name for name in os.listdir(folder) if name.endswith(".json")), key=lambda name: (len(name), name)):
        with open(os.path.join(folder, name)) as file:
            config = json.load(file)
        if not name.startswith("tiny-"):
            configs.setdefault(config["model_type"], config)
    return configs


class Family:
    def __init__(self, name, config, keys, folder):
        self.name, self.config, self.keys = name, config, keys
        self.path = os.path.join(folder, name + ".json")

    def run(self, changes, flags):
        with open(self.path, "w") as file:
            json.dump({**self.config, **changes}, file)
        if "image_size" in self.config:
            flags = [flag for flag in flags if flag not in ("--seq", "16")]
        return subprocess.run(["llmmem-import", self.path, *flags, *FEW], capture_output=True, text=True)

    def program(self, changes, flags):
        done = self.run(changes, flags)
        if done.returncode != 0:
            stop(f"{self.name} {flags}: {done.stderr}")
        return done.stdout

    def modes(self):
        modes = list(FORWARD[:1] if self.name in WITHOUT_UNFUSED else FORWARD)
        if self.name in WITHOUT_CACHES:
            return modes
        context = min(CONTEXT, self.config.get("index_topk", CONTEXT))  # the longest without an indexer
        return modes + [mode + ["--context", str(context)] for mode in CACHED]

    def check(self):
        halves, zeros = dict.fromkeys(self.keys, 0.5), dict.fromkeys(self.keys, 0.0)
        if "router_aux_loss_coef" in self.config:
            halves |= {"output_router_logits": True, "router_aux_loss_coef": 0.5}
        # The file's own value is used where it differs.
        changes = [halves] if all(self.config.get(key) == 0 for key in self.keys) else [halves, {}]
        for flags in self.modes():
            program = self.program(zeros, flags)
            if any(self.program(change, flags) != program for change in changes):
                stop(f"{self.name} {flags}: what is for training alone changes the program")
            if found := SAMPLES.search(program):
                stop(f"{self.name} {flags}: the program has '{found[0]}'")
        self.check_training(halves)

    def check_training(self, halves):
        """Each key makes another step, or is refused; so those above are the keys that it reads."""
        without = self.program(dict.fromkeys(self.keys, 0.0), TRAINING)
        for key in self.keys:
            done = self.run({**dict.fromkeys(self.keys, 0.0), key: halves[key]}, TRAINING)
            isRead = done.stdout != without if done.returncode == 0 else key in done.stderr
            if not isRead:
                stop(f"{self.name}: '{key}' changes no step of training")


def main(configs, folder):
    os.makedirs(folder, exist_ok=True)
    tiny = os.path.join(os.path.dirname(os.path.dirname(configs)), "test", "EndToEnd", "Inputs", "families")
    keys, known = families(), published(tiny) | published(configs)
    if set(keys) - set(known):
        stop(f"there is no config of {sorted(set(keys) - set(known))}")
    for name in keys:
        Family(name, known[name], keys[name], folder).check()
        print(f"{name}: {', '.join(keys[name])}")
    print(f"{len(keys)} families have nothing of training in their programs for inference")


main(*sys.argv[1:])
