"""Where a step comes from that is given by name: a function of the user's, or a config.json of transformers."""

import importlib
import inspect
import json
import os
import sys
from dataclasses import dataclass
from typing import Any, Callable, Optional

import torch
from torch import nn

from ._compile import Loss

DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
OPTIMIZERS = {"adamw": torch.optim.AdamW, "adam": torch.optim.Adam, "sgd": torch.optim.SGD, "none": None}


@dataclass(frozen=True)
class Source:
    """A model on the device "meta", the inputs of its step, and its loss, None where that is among the results."""

    model: nn.Module
    inputs: Any
    loss: Optional[Loss]

    @property
    def parameters(self) -> int:
        return sum(parameter.numel() for parameter in self.model.parameters())

    @property
    def dtype(self) -> str:
        """Returns the type of most parameters, as llmmem-fit names it."""
        sizes: dict = {}
        for parameter in self.model.parameters():
            sizes[parameter.dtype] = sizes.get(parameter.dtype, 0) + parameter.numel()
        most = max(sizes, key=lambda dtype: sizes[dtype], default=torch.float32)
        return next((name for name, dtype in DTYPES.items() if dtype == most), str(most).replace("torch.", ""))


def read_source(name: str, batch: int, tokens: int, dtype: Optional[str] = None) -> Source:
    """Returns what `name` stands for: "package.module:function", of (batch, tokens) or of nothing, which returns (model, inputs) or
    (model, inputs, loss) and is called with "meta" as the default device; or the path of a config.json. Raises ValueError, which says what was
    expected."""
    path, _, function = name.rpartition(":")
    source = _of_function(path, function, batch, tokens) if path and not os.path.exists(name) else _of_config(name, batch, tokens, dtype)
    if dtype:
        source.model.to(DTYPES[dtype])
    return source


def _of_function(module: str, name: str, batch: int, tokens: int) -> Source:
    make = _find_function(module, name)
    takes_sizes = bool(inspect.signature(make).parameters)
    with torch.device("meta"):
        made = make(batch, tokens) if takes_sizes else make()
    if not isinstance(made, tuple) or len(made) not in (2, 3) or not isinstance(made[0], nn.Module):
        raise ValueError(f"{module}:{name} returned a {type(made).__name__}; expected (model, inputs) or (model, inputs, loss)")
    return Source(made[0].train(), made[1], made[2] if len(made) == 3 else None)


def _find_function(module: str, name: str) -> Callable[..., Any]:
    # Modules of this folder come last, so that none of them stands for one that is installed.
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        raise ValueError(f"cannot import {module!r}: {error}; expected package.module:function, from this folder or installed") from error
    make = getattr(found, name, None)
    if not callable(make):
        functions = sorted(each for each, value in vars(found).items() if inspect.isfunction(value) and not each.startswith("_"))
        raise ValueError(f"{module!r} has no function {name!r}; it has {', '.join(functions) or 'none'}")
    return make


def _of_config(path: str, batch: int, tokens: int, dtype: Optional[str]) -> Source:
    try:
        import transformers
    except ImportError as error:
        raise ValueError(f"a config needs transformers, which {sys.executable} cannot import ({error}): "
                         "pip install transformers there; package.module:function does not need it") from error
    if not os.path.isfile(path):
        raise ValueError(f"cannot read {path!r}: there is no such file; expected a config.json, or package.module:function")
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
        config = transformers.AutoConfig.for_model(content.pop("model_type"), **content)
    except (KeyError, ValueError, TypeError) as error:
        raise ValueError(f"{path}: transformers {transformers.__version__} makes no config of this file: {error}") from error
    chosen = DTYPES[dtype] if dtype else config.dtype or torch.float32
    with torch.device("meta"):
        model = _class_of(transformers, content.get("architectures")).from_config(config, dtype=chosen)
    model.config.use_cache = False
    ids = torch.empty((batch, tokens), dtype=torch.int64, device="meta")
    return Source(model.train(), {"input_ids": ids, "labels": torch.empty_like(ids)}, None)


def _class_of(transformers: Any, architectures: Optional[Any]) -> Any:
    """Returns the class of transformers that makes the model of a config for training: by the name of the config's own class, else for the next
    token."""
    named = (architectures or [""])[0]
    classes = {"ForMaskedLM": transformers.AutoModelForMaskedLM, "ForConditionalGeneration": transformers.AutoModelForSeq2SeqLM}
    return next((made_by for ending, made_by in classes.items() if named.endswith(ending)), transformers.AutoModelForCausalLM)
