"""The models of docs/Measured/Field.md, as those who measured them have built them. Nothing here holds a weight.

What bitsandbytes, which needs a GPU, does to a linear layer is written down here: the weight is packed in 4 bits with a scale of 32 bits for
each 64 of them, and is made f16 whole wherever it is multiplied by, in the forward and again in the backward (bitsandbytes/autograd/_functions.py,
MatMul4Bit; nn/modules.py, Linear4bit). Adapters next to it are as in peft (tuners/lora/bnb.py, Linear4bit.forward).
"""

import peft
import torch
import transformers
from torch import nn

GROUP = 64
CODES = 16  # of f32, one table for each layer


@torch.library.custom_op("llmmem_field::dequantize", mutates_args=())
def dequantize(packed: torch.Tensor, scales: torch.Tensor, rows: int, columns: int) -> torch.Tensor:
    raise NotImplementedError("a prediction runs no kernel")


@dequantize.register_fake
def _(packed, scales, rows, columns):
    return torch.empty(rows, columns, dtype=torch.float16, device=packed.device)


class Product(torch.autograd.Function):
    @staticmethod
    def forward(context, x, packed, scales, bias, rows, columns):
        context.save_for_backward(packed, scales)
        context.shape = rows, columns
        return nn.functional.linear(x, dequantize(packed, scales, rows, columns).to(x.dtype), bias)

    @staticmethod
    def backward(context, gradient):
        weight = dequantize(*context.saved_tensors, *context.shape)
        return torch.matmul(gradient, weight.to(gradient.dtype)), None, None, None, None, None


class Linear4Bit(nn.Module):
    def __init__(self, linear):
        super().__init__()
        self.rows, self.columns = linear.weight.shape
        elements = linear.weight.numel()
        self.register_buffer("packed", torch.empty(elements // 2, 1, dtype=torch.uint8))
        self.register_buffer("scales", torch.empty(elements // GROUP))
        self.register_buffer("codes", torch.empty(CODES))
        self.bias = linear.bias

    def forward(self, x):
        bias = None if self.bias is None else self.bias.to(torch.float16)
        return Product.apply(x.to(torch.float16), self.packed, self.scales, bias, self.rows, self.columns).to(x.dtype)


class Adapter(nn.Module):
    def __init__(self, base, rank):
        super().__init__()
        self.base, self.dropout = base, nn.Identity()
        self.down, self.up = nn.Linear(base.columns, rank, bias=False), nn.Linear(rank, base.rows, bias=False)

    def forward(self, x):
        result = self.base(x).clone()
        output = self.up(self.down(self.dropout(x.to(torch.float32)))) * 2.0
        return result + output.to(result.dtype)


TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj")


def lora(config, attention, rank):
    """Adapters in f32 next to weights in f16, blocks checkpointed."""
    model = _base(config, attention)
    model = peft.get_peft_model(model, peft.LoraConfig(r=rank, lora_alpha=2 * rank, lora_dropout=0.0, target_modules=list(TARGETS),
                                                       task_type="CAUSAL_LM"))
    return _checkpointed(model)


def qlora(config, attention, rank):
    """The same next to weights in 4 bits. What is not packed is made f32, as peft's prepare_model_for_kbit_training does."""
    model = _base(config, attention)
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    model.float()
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear) and name != "lm_head":
                packed = Linear4Bit(child)
                setattr(module, name, Adapter(packed, rank) if name in TARGETS else packed)
    return _checkpointed(model)


def _base(config, attention):
    """Returns the model in f16. Some attention kernels want as many heads of keys as of queries, which fitcheck's script repeats by hand."""
    if attention == "sdpa":
        _repeat_keys()
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation=attention, dtype=torch.float16)
    model.config.use_cache = False
    return model


def _repeat_keys():
    attend = nn.functional.scaled_dot_product_attention

    def repeated(query, key, value, *args, **kwargs):
        groups = query.size(-3) // key.size(-3)
        if groups > 1:
            key, value = key.repeat_interleave(groups, dim=-3), value.repeat_interleave(groups, dim=-3)
            kwargs.pop("enable_gqa", None)
        return attend(query, key, value, *args, **kwargs)

    if not hasattr(attend, "repeats_keys"):
        repeated.repeats_keys = True
        nn.functional.scaled_dot_product_attention = repeated


def _checkpointed(model):
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    model.enable_input_require_grads()
    return model.train()
