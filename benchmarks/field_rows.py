"""What others have measured of training steps, with their sources: the rows of docs/Measured/Field.md.

fitcheck publishes its script (scripts/measure.py) and what it printed (data/measurements) on a Tesla T4: torch.cuda.max_memory_allocated and
max_memory_reserved of a step after the first, in MiB, with batch, tokens, attention, rank of the adapters and versions.
"""

from dataclasses import dataclass
from typing import Any, Dict

import transformers


@dataclass(frozen=True)
class Row:
    """source: which of SOURCES. model: one of MODELS. weights: "nf4" or "f16". allocated, reserved: measured, in MiB."""

    source: str
    model: str
    weights: str
    attention: str
    rank: int
    batch: int
    tokens: int
    allocated: float
    reserved: float


FITCHECK = "https://github.com/Anassbzdd/fitcheck/blob/main/data/measurements/"
SOURCES: Dict[str, str] = {"a": FITCHECK + "t4-qlora-2026-09-01.json", "b": FITCHECK + "t4-sweep-2026-09-15.json",
                           "c": FITCHECK + "t4-phase3-2026-09-16.json", "d": FITCHECK + "final-t4-20260921.json",
                           "e": "https://github.com/pytorch/torchtitan/blob/main/benchmarks/llama3_h100_202412_torchtitan.md"}
# What torchtitan's log shows of its Llama-3.1-8B on 8 H100 with FSDP2 alone.
TITAN_GIB = 82.4


def _llama(kind: Any, hidden: int, layers: int, heads: int, keys: int, inner: int, vocabulary: int, tied: bool = False) -> Any:
    return kind(hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads, num_key_value_heads=keys, intermediate_size=inner,
                vocab_size=vocabulary, tie_word_embeddings=tied, max_position_embeddings=4096)


MODELS: Dict[str, Any] = {
    "TinyLlama-1.1B": lambda: _llama(transformers.LlamaConfig, 2048, 22, 32, 4, 5632, 32000),
    "SmolLM2-1.7B": lambda: _llama(transformers.LlamaConfig, 2048, 24, 32, 32, 8192, 49152, True),
    "Qwen2.5-1.5B": lambda: _llama(transformers.Qwen2Config, 1536, 28, 12, 2, 8960, 151936, True),
    "Qwen2.5-7B": lambda: _llama(transformers.Qwen2Config, 3584, 28, 28, 4, 18944, 152064),
    "Mistral-7B-v0.3": lambda: _llama(transformers.MistralConfig, 4096, 32, 32, 8, 14336, 32768),
    "deepseek-coder-1.3b": lambda: _llama(transformers.LlamaConfig, 2048, 24, 16, 16, 5504, 32256),
}

ROWS = (
    Row("a", "TinyLlama-1.1B", "nf4", "eager", 32, 2, 512, 1849, 2070),
    Row("a", "TinyLlama-1.1B", "nf4", "eager", 32, 2, 1024, 2876, 3532),
    Row("a", "TinyLlama-1.1B", "nf4", "eager", 32, 2, 2048, 6655, 7640),
    Row("a", "TinyLlama-1.1B", "nf4", "sdpa", 32, 2, 512, 1847, 2126),
    Row("a", "TinyLlama-1.1B", "nf4", "sdpa", 32, 2, 1024, 2528, 2892),
    Row("a", "TinyLlama-1.1B", "nf4", "sdpa", 32, 2, 2048, 3897, 4640),
    Row("a", "SmolLM2-1.7B", "nf4", "eager", 32, 4, 1024, 5297, 6932),
    Row("a", "SmolLM2-1.7B", "nf4", "sdpa", 32, 4, 1024, 5281, 5908),
    Row("a", "Qwen2.5-1.5B", "nf4", "eager", 32, 2, 1024, 6831, 7372),
    Row("a", "Qwen2.5-1.5B", "nf4", "sdpa", 32, 2, 1024, 6823, 7232),
    Row("b", "Qwen2.5-1.5B", "f16", "eager", 32, 2, 1024, 7405.81, 7910),
    Row("b", "Qwen2.5-1.5B", "f16", "sdpa", 32, 2, 1024, 7401.81, 7766),
    Row("c", "Qwen2.5-1.5B", "nf4", "eager", 32, 1, 2048, 6850.05, 7584),
    Row("c", "Qwen2.5-1.5B", "nf4", "sdpa", 32, 1, 2048, 6831.17, 7604),
    Row("c", "Qwen2.5-1.5B", "f16", "eager", 32, 1, 2048, 7410.32, 8122),
    Row("c", "Qwen2.5-1.5B", "f16", "sdpa", 32, 1, 2048, 7402.32, 7766),
    Row("c", "SmolLM2-1.7B", "nf4", "eager", 32, 1, 2048, 4323.01, 4820),
    Row("c", "SmolLM2-1.7B", "f16", "eager", 32, 1, 2048, 5706.23, 7146),
    Row("d", "Qwen2.5-7B", "nf4", "eager", 16, 1, 1024, 10584.77, 11746),
    Row("d", "Mistral-7B-v0.3", "nf4", "eager", 16, 1, 1024, 6190.58, 6740),
    Row("d", "deepseek-coder-1.3b", "nf4", "eager", 16, 1, 1024, 1975.49, 2274),
    Row("d", "deepseek-coder-1.3b", "nf4", "sdpa", 16, 1, 1024, 1971.74, 2172),
)
