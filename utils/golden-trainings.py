#!/usr/bin/env python3
"""Writes what PyTorch and PEFT compute of trainings other than AdamW of all weights, in float64.

  golden-trainings.py [NAME...]    writes test/EndToEnd/Inputs/trainings/NAME.*, by default of all

NAME.config.json is a tiny model; NAME.safetensors holds `input_ids`, initial parameters (`param.`, f32), and in float64 the losses before
each of three steps, the gradients of the first step (`grad.`) and all parameters after the third (`after3.`). Models,
parameters and ids are made as golden-families.py makes them. Those of float16 (SCALED) have no gradients, and the scales of the
loss after each step. The optimizers are PyTorch's own, except Lion, which PyTorch lacks.
Where they ask for bfloat16 (Muon's iteration), that name means float64 here.
"""
import importlib.util
import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(ROOT, "test", "EndToEnd", "Inputs", "trainings")
RATE, DECAY, CLIP, STEPS = 1e-3, 0.1, 0.5, 3


def load_families():
    spec = importlib.util.spec_from_file_location("families", os.path.join(ROOT, "utils", "golden-families.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


families = load_families()
LLAMA = {**families.LLAMA, "num_hidden_layers": 1}
GPT2 = {"model_type": "gpt2", "vocab_size": 61, "n_embd": 16, "n_head": 2, "n_layer": 2, "n_positions": 32,
        "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new", "embd_pdrop": 0.0, "attn_pdrop": 0.0,
        "resid_pdrop": 0.0, "torch_dtype": "float32"}


def decayed(model, decay):
    """Lets matrices decay, and norms and biases not."""
    trained = [p for p in model.parameters() if p.requires_grad]
    return [{"params": [p for p in trained if p.ndim == 2], "weight_decay": decay},
            {"params": [p for p in trained if p.ndim != 2], "weight_decay": 0.0}]


def adamw(model, decay=DECAY):
    import torch
    return [torch.optim.AdamW(decayed(model, decay), lr=RATE, betas=(0.9, 0.999), eps=1e-8)]


def sgd(model, **options):
    import torch
    return [torch.optim.SGD(decayed(model, DECAY), lr=RATE, **options)]


def grouped(make):
    """Lets tables decay by 0.5, the head by 0.25, norms by 0.125, biases not at all, and everything else by the default."""
    def make_optimizers(model):
        def decay(name, parameter):
            if name.endswith("bias"):
                return 0.0
            if parameter.ndim == 1:
                return 0.125
            if "embed" in name or ".wte." in name or ".wpe." in name:
                return 0.5
            return 0.25 if name.startswith("lm_head") else DECAY
        return [make([{"params": [p], "weight_decay": decay(name, p)} for name, p in model.named_parameters()])]
    return make_optimizers


def packed(model, ids, segments):
    """Returns the logits of sequences that are packed into rows, each computed by itself."""
    import torch
    logits = torch.zeros(*ids.shape, model.config.vocab_size)
    for row in range(ids.shape[0]):
        for segment in segments[row].unique():
            places = (segments[row] == segment).nonzero().flatten()
            if segment >= 0:
                logits[row, places] = model(input_ids=ids[row:row + 1, places], use_cache=False).logits[0]
    return logits


def lion(model):
    """Algorithm 2 of Chen et al. 2023."""
    import torch

    class Lion(torch.optim.Optimizer):
        def step(self):
            for group in self.param_groups:
                for p in group["params"]:
                    m = self.state[p].setdefault("m", torch.zeros_like(p))
                    with torch.no_grad():
                        p.mul_(1 - RATE * group["weight_decay"])
                        p.sub_(RATE * torch.sign(0.9 * m + 0.1 * p.grad))
                        m.mul_(0.99).add_(0.01 * p.grad)

    return [Lion(decayed(model, DECAY), {})]


def adafactor(model):
    import torch
    return [torch.optim.Adafactor(decayed(model, 0.0), lr=RATE, eps=(2.0**-23, 1e-3), foreach=False)]


def muon(model):
    """The matrices of blocks, and AdamW for all else."""
    import torch
    hidden = [p for name, p in model.named_parameters() if p.ndim == 2 and ".layers." in name]
    others = [p for p in model.parameters() if all(p is not q for q in hidden)]
    groups = [{"params": [p for p in others if p.ndim == 2], "weight_decay": DECAY},
              {"params": [p for p in others if p.ndim != 2], "weight_decay": 0.0}]
    return [torch.optim.Muon(hidden, lr=RATE, weight_decay=DECAY, momentum=0.95, nesterov=True,
                             adjust_lr_fn="match_rms_adamw"),
            torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.999), eps=1e-8)]


def lora(rank, alpha, targets):
    def wrap(model):
        import peft
        return peft.get_peft_model(model, peft.LoraConfig(r=rank, lora_alpha=alpha, target_modules=targets,
                                                          fan_in_fan_out=model.config.model_type == "gpt2",
                                                          lora_dropout=0.0))
    return wrap


def freeze(*parts):
    def freeze_parts(model):
        for name, parameter in model.named_parameters():
            parameter.requires_grad = not any(part in name for part in parts)
        return model
    return freeze_parts


def mean(logits, targets):
    import torch
    return torch.nn.functional.cross_entropy(logits, targets)


def smoothed(smoothing, z):
    """Label smoothing is PyTorch's; z-loss is that of PaLM (Chowdhery et al. 2022, section 5)."""
    def loss(logits, targets):
        import torch
        return (torch.nn.functional.cross_entropy(logits, targets, label_smoothing=smoothing)
                + z * torch.logsumexp(logits, -1).square().mean())
    return loss


# Config, what becomes of the model, optimizers, largest norm (or none), loss.
TRAININGS = {
    "freeze": (LLAMA, freeze("embed_tokens", "o_proj", "lm_head"), adamw, None, mean),
    "lora": (families.LLAMA, lora(2, 3, ["q_proj", "v_proj"]), adamw, None, mean),
    "lora-gpt2": (GPT2, lora(4, 4, ["c_attn", "mlp.c_proj"]), adamw, CLIP, mean),
    "sgd": (LLAMA, None, lambda model: sgd(model, momentum=0.9), None, mean),
    "sgd-nesterov": (LLAMA, None, lambda model: sgd(model, momentum=0.9, nesterov=True), CLIP, mean),
    "lion": (LLAMA, None, lion, CLIP, mean),
    "adafactor": (LLAMA, None, adafactor, None, mean),
    "adafactor-clipped": (LLAMA, None, adafactor, CLIP, mean),
    "muon": (LLAMA, None, muon, CLIP, mean),
    "smoothed": (LLAMA, None, adamw, None, smoothed(0.1, 1e-2)),
    "groups-adamw": (GPT2, None, grouped(lambda groups: __import__("torch").optim.AdamW(groups, lr=RATE)), None, mean),
    "groups-sgd": (LLAMA, None, grouped(lambda groups: __import__("torch").optim.SGD(groups, lr=RATE, momentum=0.9)), None,
                   mean),
    "packed": ({**families.LLAMA, "sliding_window": 4, "model_type": "mistral"}, None, adamw, None, mean),
    "packed-gpt2": (GPT2, None, adamw, None, mean),
}
# Parameters in float32 that autocast computes with in float16, a scale that the loss begins with, and steps until it grows. The
# first overflows, so that its step is skipped.
SCALED = {"scaled": (families.LLAMA, 2.0**17, 2), "scaled-once": (families.LLAMA, 2.0**16, 2000)}
# Sequences in each row, by their lengths; what is left is padding.
SEGMENTS = {"packed": [[5, 1, 7], [16]], "packed-gpt2": [[3, 13], [4, 4, 4, 2]]}


def segments_of(name):
    """Returns a number for each token, -1 in padding."""
    rows = [[number for number, length in enumerate(lengths) for _ in range(length)] for lengths in SEGMENTS[name]]
    return [row + [-1] * (families.SEQ - len(row)) for row in rows]


def public_name(name):
    """Returns the name that checkpoints use: a model's parameters without PEFT's layers around them, and PEFT's without the adapter's name."""
    if ".lora_" in name:
        return name.replace(".default.", ".")
    return name.removeprefix("base_model.model.").replace(".base_layer.", ".")


def write_training(name):
    import numpy as np
    import torch
    from safetensors.numpy import save_file
    config, wrap, make_optimizers, clip, make_loss = TRAININGS[name]
    model = families.make_model(config)
    if wrap:
        model = wrap(model)
    model.to(torch.float64)
    tensors = {}
    parameters = {public_name(key): parameter for key, parameter in model.named_parameters()}
    for key, parameter in parameters.items():
        tensors["param." + key] = families.make_parameter(key, tuple(parameter.shape))
        with torch.no_grad():
            parameter.copy_(torch.from_numpy(tensors["param." + key]))
    count = families.BATCH * families.SEQ
    numbers = (families.samples("input_ids", count) >> np.uint64(33)) % np.uint64(config["vocab_size"])
    ids = torch.from_numpy(numbers.astype(np.int64).reshape(families.BATCH, families.SEQ))
    tensors["input_ids"] = ids.numpy()
    targets = ids[:, 1:]
    if name in SEGMENTS:
        segments = torch.tensor(segments_of(name))
        tensors["segments"] = segments.numpy()
        goes_on = (segments[:, 1:] == segments[:, :-1]) & (segments[:, 1:] >= 0)
        targets = torch.where(goes_on, targets, -100)
    optimizers = make_optimizers(model)
    trained = {key: p for key, p in parameters.items() if p.requires_grad}
    losses = []
    for step in range(STEPS):
        model.zero_grad()
        logits = packed(model, ids, segments) if name in SEGMENTS else model(input_ids=ids, use_cache=False).logits
        assert logits.dtype == torch.float64
        loss = make_loss(logits[:, :-1].flatten(0, 1), targets.flatten())
        loss.backward()
        losses.append(loss.item())
        if step == 0:
            tensors.update(("grad." + key, p.grad.numpy().copy()) for key, p in trained.items())
        if clip:
            norm = torch.nn.utils.clip_grad_norm_(list(trained.values()), clip)
            assert norm > clip, norm
        for optimizer in optimizers:
            optimizer.step()
    tensors.update(("after3." + key, p.detach().numpy()) for key, p in parameters.items())
    tensors["losses"] = np.array(losses)
    save_file(tensors, os.path.join(FOLDER, name + ".safetensors"))
    with open(os.path.join(FOLDER, name + ".config.json"), "w") as file:
        json.dump(config, file, indent=2)
        file.write("\n")
    print(f"{name}: {sum(p.numel() for p in trained.values())} parameters trained, losses {losses}")


def write_scaled(name):
    """Writes what torch.amp.GradScaler and autocast make of the CPU's own float16."""
    import numpy as np
    import torch
    from safetensors.numpy import save_file
    config, initial, interval = SCALED[name]
    model = families.make_model(config).to(torch.float32)
    tensors = {}
    for key, parameter in model.named_parameters():
        tensors["param." + key] = families.make_parameter(key, tuple(parameter.shape))
        with torch.no_grad():
            parameter.copy_(torch.from_numpy(tensors["param." + key]))
    count = families.BATCH * families.SEQ
    numbers = (families.samples("input_ids", count) >> np.uint64(33)) % np.uint64(config["vocab_size"])
    ids = torch.from_numpy(numbers.astype(np.int64).reshape(families.BATCH, families.SEQ))
    tensors["input_ids"] = ids.numpy()
    optimizer, = adamw(model)
    scaler = torch.amp.GradScaler("cpu", init_scale=initial, growth_interval=interval)
    losses, scales = [], []
    for _ in range(STEPS):
        model.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            logits = model(input_ids=ids, use_cache=False).logits
            assert logits.dtype == torch.float16
            loss = mean(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
        scales.append(scaler.get_scale())
    for key, parameter in model.named_parameters():
        tensors["after3." + key] = parameter.detach().numpy().astype(np.float64)
    tensors["losses"], tensors["loss_scales"] = np.array(losses), np.array(scales)
    save_file(tensors, os.path.join(FOLDER, name + ".safetensors"))
    with open(os.path.join(FOLDER, name + ".config.json"), "w") as file:
        json.dump(config, file, indent=2)
        file.write("\n")
    print(f"{name}: losses {losses}, scales {scales}")


def main():
    try:
        import peft
        import torch
    except ImportError:
        families.run_in_environment()
    torch.set_num_threads(1)
    os.makedirs(FOLDER, exist_ok=True)
    names = sys.argv[1:] or [*SCALED, *TRAININGS]
    for name in filter(SCALED.__contains__, names):
        write_scaled(name)
    torch.float32 = torch.float = torch.bfloat16 = torch.float64
    torch.Tensor.float = torch.Tensor.double
    torch.set_default_dtype(torch.float64)
    for name in filter(TRAININGS.__contains__, names):
        write_training(name)


if __name__ == "__main__":
    main()
