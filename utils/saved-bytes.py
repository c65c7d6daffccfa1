#!/usr/bin/env python3
"""What a block of each family saves for the backward: PyTorch in eager mode compared with llmmem, part by part.

  saved-bytes.py                          prints the table of docs/Design/SavedBytes.md
  saved-bytes.py --torch PAGE [NAME...]   whether PyTorch's numbers are those of the page, by default of all families
  saved-bytes.py --llmmem PAGE [NAME...]  whether llmmem's are (needs no PyTorch, and the tools on the PATH)

The models are those of golden-families.py with three layers, in float32, attention written out as the library has it; the block is
the second. PyTorch's bytes are those of distinct storages that saved_tensors_hooks sees first in the block, parameters and buffers
apart; llmmem's are the report's of a plan with the policy none. Each storage and each saved value is of one part (`PARTS`), by the
module and the op that made it or by its name, and one that no rule names is an error: so the parts add up to the whole.
"""
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "utils"))
families = importlib.import_module("golden-families")

PARTS = ("stream", "norms", "statistics", "heads", "squares", "output", "MLP", "experts", "branches")
EXTRA = {
    "gpt2": {"model_type": "gpt2", "vocab_size": 61, "n_embd": 16, "n_head": 2, "n_layer": 2, "n_positions": 32,
             "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new", "embd_pdrop": 0.0, "attn_pdrop": 0.0, "resid_pdrop": 0.0,
             "bos_token_id": 0, "eos_token_id": 0},
    "mistral": {**families.GATED, "model_type": "mistral", "sliding_window": 4, "rope_theta": 100.0},
}


LISTS = ("block_configs", "indexer_types")  # that have an element for each layer
LAYERS = ("n_layer", "num_layers", "num_decoder_layers", "num_hidden_layers")


def measures_decoder(config):
    """Returns of an encoder and a decoder, whether the block is the decoder's: where a config has a number of its layers."""
    return "num_decoder_layers" in config


def configs():
    """Returns each family with three layers. A text part of another model is one of these."""
    for name, config in {**families.CONFIGS, **EXTRA}.items():
        if "text_config" in config:
            continue
        of_layers = {key: [*value, *value][:3] for key, value in config.items()
                     if ("layer" in key or key in LISTS) and isinstance(value, list)}
        yield name, {**config, **{key: 3 for key in LAYERS if key in config}, **of_layers}


# ----------------------------------------------------------------------------------------------------------------------
# PyTorch
# ----------------------------------------------------------------------------------------------------------------------

# The first rule that matches the place that made a storage ("module op"; `#` is the block, `-` the one before) names its part.
TORCH_RULES = (
    (r"expert|#\.(mlp|block_sparse_moe|feed_forward)\.(gate|router)\b|^#\.mlp sigmoid$|^#\.(block_sparse_moe|shared_mlp)|^#\.feed_forward ",
     "experts"),
    (r"(norm|ln_\w+|LayerNorm)\S* ", "norms"),
    (r"^[-#] |^#(\.attention)?\.output add", "stream"),
    (r"rotary", "heads"),
    (r"(o_proj|down_proj|attention\.dense) (mm|addmm)", "branches"),
    (r"^#\.layer\.\d add$", "stream"),
    (r"^#\.(\w*attn|\w*attention|conv|mamba|mixer)|Attention\b", "heads"),
    (r"^#\.(mlp|intermediate)|^#\.feed_forward|DenseReluDense", "MLP"),
)


def torch_part(place, shape, lengths):
    part = next((part for rule, part in TORCH_RULES if re.search(rule, place)), None)
    if part == "norms" and shape[-1:] == (1,):
        return "statistics"
    if part != "heads" or len(shape) != 4:
        return part
    # These have a sink's column, or the largest of each row.
    if shape[2] in lengths and shape[3] in (1, *lengths, *(seq + 1 for seq in lengths)):
        return "squares"
    return "output" if shape[1] in lengths and place.endswith("clone") else part


class Places:
    """Records which module and which op made a storage."""

    def __init__(self, model, block):
        self.stack, self.of, self.block, self.kept = [], {}, block, []
        for name, module in model.named_modules():
            module.register_forward_pre_hook(lambda *_, name=name: self.stack.append(name))
            module.register_forward_hook(lambda *_: self.stack.pop() and None)

    def note(self, op, tensors):
        for tensor in tensors:
            self.kept.append(tensor)  # or another storage would begin where it was
            short = (self.stack or [""])[-1].replace(self.block + ".1", "#")
            short = "-" if re.fullmatch(re.escape(self.block) + r"\.0(\.output|\.layer\.\d)?", short) else short
            self.of.setdefault(tensor.untyped_storage().data_ptr(), (f"{short} {op}", tuple(tensor.shape)))


def block_list(model, config):
    import torch
    lists = [name for name, module in model.named_modules()
             if isinstance(module, torch.nn.ModuleList) and len(module) == 3 and "expert" not in name and
             not re.search(r"block\.\d+\.layer$", name)]
    return lists[-1 if measures_decoder(config) else 0]


def torch_parts(config):
    """Returns the bytes of each part of the second block."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    torch.manual_seed(0)
    model = families.make_model(config).float()
    inputs, _, _ = families.make_batch(config)
    inputs = {name: value.float() if value.is_floating_point() else value for name, value in inputs.items()}
    block = block_list(model, config)
    places, seen, parts = Places(model, block), set(), dict.fromkeys(PARTS, 0)
    mixes = any(name.endswith("experts") for name, _ in model.named_modules())
    seen.update(tensor.untyped_storage().data_ptr() for tensor in [*model.parameters(), *model.buffers()])
    lengths = [value.shape[1] for value in inputs.values() if value.ndim == 2]
    lengths = lengths or [(config["image_size"] // config["patch_size"]) ** 2 + 1]

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            out = function(*args, **(kwargs or {}))
            outs = out if isinstance(out, (tuple, list)) else [out]
            places.note(str(function).split(".")[1], [x for x in outs if isinstance(x, torch.Tensor)])
            return out

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() in seen:
            return tensor
        seen.add(storage.data_ptr())
        if any(name == block + ".1" for name in places.stack):
            place, shape = places.of[storage.data_ptr()]
            part = torch_part(place, shape, lengths)
            part = "MLP" if part == "experts" and not mixes else part
            if part is None:
                sys.exit(f"saved-bytes: no rule names '{place}', {list(shape)}, of {config['model_type']}")
            parts[part] += storage.nbytes()
        places.kept.append(tensor)
        return tensor

    with Watch(), torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        model(**inputs)
    return parts


# ----------------------------------------------------------------------------------------------------------------------
# llmmem
# ----------------------------------------------------------------------------------------------------------------------

LLMMEM_RULES = (
    (r"\.(rstd|mean|lse|post_norm)$", "statistics"),
    (r"residual$", "stream"),
    (r"norm$", "norms"),
    (r"^(attn|cross)\.out", "output"),
    (r"^(attn|cross)\.(scores|biased|masked|probabilities)$", "squares"),
    (r"^(attn\.proj|mlp\.down)$", "branches"),
    (r"^(attn|cross|conv|state)\.", "heads"),
    (r"^mlp\.", "MLP"),
)


def llmmem_part(name, mixes):
    if mixes and name.startswith("mlp.") and not re.search(r"(residual|mlp\.norm(\.\w+)?)$", name):
        return "experts"
    return next((part for rule, part in LLMMEM_RULES if re.search(rule, name)), None)


def saved_values(config):
    with tempfile.TemporaryDirectory() as folder:
        file, model, report = (os.path.join(folder, name) for name in ("config.json", "model.mlir", "report.json"))
        with open(file, "w") as text:
            json.dump(config, text)
        shape = ["--batch=2"] if "image_size" in config else ["--batch=2", "--seq=16"]
        if config["model_type"] in families.ENCODED:
            shape.append(f"--decoder-seq={families.DECODER_SEQ}")
        subprocess.run(["llmmem-import", file, *shape, "--dtype=f32", "-o", model], check=True)
        subprocess.run(["llmmem-opt", model, "--checkpoint-policy=none", "--memory-report-json=" + report, "-o", os.devnull],
                       check=True, stderr=subprocess.DEVNULL)
        with open(report) as text:
            return json.load(text)["saved"]["tensors"]


def llmmem_parts(config):
    # The decoder's blocks follow the three of the encoder.
    number = 4 if measures_decoder(config) else 1
    own = [value for value in saved_values(config) if value["block"] == number]
    mixes, parts = any("dispatch" in value["name"] for value in own), dict.fromkeys(PARTS, 0)
    for value in own:
        part = llmmem_part(value["name"].removeprefix(f"h.{number}."), mixes)
        if part is None:
            sys.exit(f"saved-bytes: no rule names '{value['name']}' of {config['model_type']}")
        parts[part] += value["bytes"]
    return parts


# ----------------------------------------------------------------------------------------------------------------------
# The page
# ----------------------------------------------------------------------------------------------------------------------


def table():
    yield "| family | | all | " + " | ".join(PARTS) + " |"
    yield "|---|---|" + "---:|" * (len(PARTS) + 1)
    for name, config in configs():
        sides = {"PyTorch": torch_parts(config), "llmmem": llmmem_parts(config)}
        for side, parts in sides.items():
            cells = [f"{number:,}" if number else "" for number in (sum(parts.values()), *parts.values())]
            yield f"| `{name}` | {side} | " + " | ".join(cells) + " |"


def read_page(page, side):
    """Returns the parts of each family on one side; all that a row says adds up."""
    rows = {}
    with open(page) as text:
        for line in text:
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if len(cells) == 3 + len(PARTS) and cells[1] == side:
                numbers = [int(cell.replace(",", "") or 0) for cell in cells[2:]]
                if numbers[0] != sum(numbers[1:]):
                    sys.exit(f"saved-bytes: {page}: the parts of {cells[0]} by {side} do not add up")
                rows[cells[0].strip("`")] = dict(zip(PARTS, numbers[1:]))
    return rows


def check(page, side, parts_of, names):
    """Returns how many families have the page's numbers, and a line for each that has others."""
    rows, wrong = read_page(page, side), []
    for name, config in configs():
        if names and name not in names:
            continue
        found = parts_of(config)
        wrong += [f"{name}: {side} saves {found}, the page says {rows.get(name)}"] if rows.get(name) != found else []
    wrong += [f"{name}: is no family" for name in set(rows) - {name for name, _ in configs()}]
    return len(names or rows), wrong


def main():
    sides = {"--torch": ("PyTorch", torch_parts), "--llmmem": ("llmmem", llmmem_parts)}
    if len(sys.argv) == 1:
        print("\n".join(table()))
        return 0
    if len(sys.argv) < 3 or sys.argv[1] not in sides:
        sys.exit(__doc__)
    count, wrong = check(sys.argv[2], *sides[sys.argv[1]], sys.argv[3:])
    print("\n".join(wrong) if wrong else f"{count} families save what the page says")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
