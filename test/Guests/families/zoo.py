"""Small models of transformers as people train them, and what a step of each is called with. Not a test."""

import contextlib
from dataclasses import dataclass
from typing import Any, Callable, ContextManager, Dict, Optional

import peft
import torch
import transformers
from torch import nn

VOCABULARY, BATCH, TOKENS = 128, 2, 32
Batch = Dict[str, torch.Tensor]
SHAPE: Dict[str, Any] = dict(vocab_size=VOCABULARY, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
                             max_position_embeddings=64)
GROUPED: Dict[str, Any] = dict(SHAPE, num_key_value_heads=2)
WINDOWS: Dict[str, Any] = dict(head_dim=16, sliding_window=8, layer_types=["sliding_attention", "full_attention"])
MARKS: Dict[str, Any] = dict(bos_token_id=1, eos_token_id=2, pad_token_id=0)
EXPERTS: Dict[str, Any] = dict(num_experts_per_tok=2)
VISION: Dict[str, Any] = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, image_size=32,
                              patch_size=8)


def make_ids(step: int) -> torch.Tensor:
    return torch.randint(3, VOCABULARY, (BATCH, TOKENS), generator=torch.Generator().manual_seed(step))


def make_noise(step: int, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(step))


def text(step: int) -> Batch:
    ids = make_ids(step)
    return dict(input_ids=ids, labels=ids.clone())


def padded(step: int) -> Batch:
    """The last tokens of the first row are padding."""
    ids = make_ids(step)
    mask = torch.ones_like(ids)
    mask[0, -5:] = 0
    return dict(input_ids=ids, labels=ids.masked_fill(mask == 0, -100), attention_mask=mask)


def packed(step: int) -> Batch:
    """Each row has two documents."""
    return dict(text(step), position_ids=torch.arange(TOKENS // 2).repeat(BATCH, 2))


def sound(step: int) -> Batch:
    return dict(input_features=make_noise(step, BATCH, 8, 64), labels=make_ids(step))


def images(step: int) -> Batch:
    return dict(pixel_values=make_noise(step, BATCH, 3, 32, 32), labels=torch.tensor([1, step % 10]))


def captions(step: int) -> Dict[str, Any]:
    ids = make_ids(step)
    ids[:, -1] = 2
    return dict(input_ids=ids, attention_mask=torch.ones_like(ids), pixel_values=make_noise(step, BATCH, 3, 32, 32), return_loss=True)


def images_in_text(step: int) -> Batch:
    ids = make_ids(step)
    ids[ids == 3] = 4
    ids[:, 1:17] = 3
    return dict(input_ids=ids, labels=ids.clone(), attention_mask=torch.ones_like(ids), pixel_values=make_noise(step, BATCH, 3, 32, 32))


def patches_in_text(step: int) -> Batch:
    ids = make_ids(step)
    ids[ids < 8] = 9
    ids[:, :6] = torch.tensor([4, 3, 3, 3, 3, 5])
    return dict(input_ids=ids, labels=ids.clone(), attention_mask=torch.ones_like(ids), pixel_values=make_noise(step, BATCH * 16, 96),
                image_grid_thw=torch.tensor([[1, 4, 4]] * BATCH), mm_token_type_ids=(ids == 3).int())


@dataclass(frozen=True)
class Entry:
    """A model. batch: the arguments of step i. context: what the forward runs in. dynamic: that argument of torch.compile."""

    make: Callable[[], nn.Module]
    batch: Callable[[int], Dict[str, Any]] = text
    context: Callable[[], ContextManager[Any]] = contextlib.nullcontext
    dynamic: Optional[bool] = None


def causal(config: Any, **options: Any) -> nn.Module:
    model = transformers.AutoModelForCausalLM.from_config(config, **options)
    model.config.use_cache = False
    return model


def gpt2() -> nn.Module:
    return causal(transformers.GPT2Config(vocab_size=VOCABULARY, n_embd=64, n_layer=2, n_head=4, n_positions=64, bos_token_id=1,
                                          eos_token_id=2))


def llama(**options: Any) -> nn.Module:
    return causal(transformers.LlamaConfig(**GROUPED, **MARKS), **options)


def checkpointed(**options: Any) -> nn.Module:
    model = llama()
    model.gradient_checkpointing_enable(**options)
    return model


def gemma3() -> nn.Module:
    return causal(transformers.Gemma3TextConfig(**GROUPED, **WINDOWS, **MARKS))


def mixtral(experts: Optional[str] = None) -> nn.Module:
    return with_experts(causal(transformers.MixtralConfig(**GROUPED, **EXPERTS, num_local_experts=4, output_router_logits=True, **MARKS)),
                        experts)


def qwen3_moe(experts: Optional[str] = None) -> nn.Module:
    return with_experts(causal(transformers.Qwen3MoeConfig(**GROUPED, **EXPERTS, head_dim=16, num_experts=4, moe_intermediate_size=32,
                                                           **MARKS)), experts)


def with_experts(model: nn.Module, implementation: Optional[str]) -> nn.Module:
    """Lets experts run as grouped products, for example, in place of a loop over those that were chosen."""
    if implementation:
        model.config._experts_implementation = implementation
    return model


def deepseek_v3() -> nn.Module:
    """A dense layer and one of experts, and latent attention."""
    return causal(transformers.DeepseekV3Config(
        **SHAPE, **EXPERTS, num_key_value_heads=4, moe_intermediate_size=32, n_routed_experts=4, n_shared_experts=1, kv_lora_rank=16,
        q_lora_rank=32, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=16, first_k_dense_replace=1, n_group=2, topk_group=1, **MARKS))


def gpt_oss() -> nn.Module:
    return causal(transformers.GptOssConfig(**GROUPED, **WINDOWS, **EXPERTS, num_local_experts=4, **MARKS))


def mamba() -> nn.Module:
    return causal(transformers.MambaConfig(vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, state_size=4, time_step_rank=4,
                                           **MARKS))


def mamba2() -> nn.Module:
    return causal(transformers.Mamba2Config(vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, state_size=8, num_heads=8,
                                            head_dim=8, n_groups=1, chunk_size=16, **MARKS))


def falcon_h1() -> nn.Module:
    return causal(transformers.FalconH1Config(**GROUPED, mamba_d_ssm=64, mamba_n_heads=8, mamba_d_head=8, mamba_d_state=8,
                                              mamba_n_groups=1, mamba_chunk_size=16, **MARKS))


def bert() -> nn.Module:
    return transformers.BertForMaskedLM(transformers.BertConfig(**SHAPE))


def modernbert() -> nn.Module:
    return transformers.ModernBertForMaskedLM(transformers.ModernBertConfig(
        **SHAPE, **MARKS, global_attn_every_n_layers=2, local_attention=8, cls_token_id=1, sep_token_id=2))


def t5() -> nn.Module:
    return transformers.T5ForConditionalGeneration(transformers.T5Config(
        vocab_size=VOCABULARY, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, decoder_start_token_id=0, use_cache=False))


def whisper() -> nn.Module:
    return transformers.WhisperForConditionalGeneration(transformers.WhisperConfig(
        vocab_size=VOCABULARY, num_mel_bins=8, encoder_layers=2, encoder_attention_heads=4, decoder_layers=2, decoder_attention_heads=4,
        decoder_ffn_dim=128, encoder_ffn_dim=128, d_model=64, max_source_positions=32, max_target_positions=64, use_cache=False,
        decoder_start_token_id=1, **MARKS))


def vit() -> nn.Module:
    return transformers.ViTForImageClassification(transformers.ViTConfig(**VISION, num_labels=10))


def clip() -> nn.Module:
    return transformers.CLIPModel(transformers.CLIPConfig(text_config=dict(**SHAPE, **MARKS), vision_config=VISION, projection_dim=32))


def llava() -> nn.Module:
    model = transformers.LlavaForConditionalGeneration(transformers.LlavaConfig(
        text_config=transformers.LlamaConfig(**GROUPED, **MARKS), vision_config=transformers.CLIPVisionConfig(**VISION), image_token_id=3,
        image_seq_length=16))
    model.config.use_cache = False
    return model


def qwen2_vl() -> nn.Module:
    rope = dict(rope_type="default", mrope_section=[2, 3, 3], rope_theta=1e4)
    model = transformers.Qwen2VLForConditionalGeneration(transformers.Qwen2VLConfig(
        text_config=dict(**GROUPED, **MARKS, rope_parameters=rope),
        vision_config=dict(depth=2, embed_dim=64, hidden_size=64, num_heads=4, mlp_ratio=2, patch_size=4, spatial_merge_size=2,
                           temporal_patch_size=2),
        image_token_id=3, vision_start_token_id=4, vision_end_token_id=5, video_token_id=6))
    model.config.use_cache = False
    return model


def lora() -> nn.Module:
    return peft.get_peft_model(llama(), peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"], lora_dropout=0.05, task_type="CAUSAL_LM"))


def lora_in_bf16() -> nn.Module:
    """As adapters of large models are trained: the base in bf16, its blocks checkpointed."""
    model = peft.get_peft_model(llama().bfloat16(), peft.LoraConfig(r=4, target_modules="all-linear", lora_dropout=0.0,
                                                                    task_type="CAUSAL_LM"))
    model.enable_input_require_grads()
    model.gradient_checkpointing_enable()
    return model


class Smoothed(nn.Module):
    """A loss of one's own on the logits of a model."""

    def __init__(self) -> None:
        super().__init__()
        self.model = llama()

    def forward(self, input_ids: torch.Tensor, labels: torch.Tensor) -> Dict[str, torch.Tensor]:
        logits = self.model(input_ids=input_ids).logits
        return dict(loss=nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1).float(), labels[:, 1:].flatten(), label_smoothing=0.1))


MODELS: Dict[str, Entry] = {
    "gpt2": Entry(gpt2),
    "llama": Entry(llama),
    "llama-padded": Entry(llama, padded),
    "llama-packed": Entry(llama, packed),
    "llama-plain-attention": Entry(lambda: llama(attn_implementation="eager")),
    "llama-checkpointed": Entry(checkpointed),
    "llama-checkpointed-reentrant": Entry(lambda: checkpointed(gradient_checkpointing_kwargs=dict(use_reentrant=True))),
    "llama-bf16": Entry(lambda: llama().bfloat16()),
    "llama-autocast": Entry(llama, context=lambda: torch.autocast("cpu", torch.bfloat16)),
    "llama-dynamic": Entry(llama, dynamic=True),
    "llama-smoothed": Entry(Smoothed),
    "llama-lora": Entry(lora),
    "llama-lora-bf16": Entry(lora_in_bf16),
    "qwen2": Entry(lambda: causal(transformers.Qwen2Config(**GROUPED, **MARKS)), padded),
    "qwen3": Entry(lambda: causal(transformers.Qwen3Config(**GROUPED, head_dim=16, **MARKS))),
    "gemma3": Entry(gemma3),
    "mistral": Entry(lambda: causal(transformers.MistralConfig(**GROUPED, sliding_window=8, **MARKS))),
    "phi3": Entry(lambda: causal(transformers.Phi3Config(**GROUPED, **MARKS))),
    "mixtral": Entry(mixtral),
    "mixtral-grouped": Entry(lambda: mixtral("grouped_mm")),
    "qwen3-moe": Entry(qwen3_moe),
    "qwen3-moe-grouped": Entry(lambda: qwen3_moe("grouped_mm")),
    "deepseek-v3": Entry(deepseek_v3),
    "gpt-oss": Entry(gpt_oss),
    "mamba": Entry(mamba),
    "mamba2": Entry(mamba2),
    "falcon-h1": Entry(falcon_h1),
    "bert": Entry(bert, padded),
    "modernbert": Entry(modernbert, padded),
    "t5": Entry(t5, padded),
    "whisper": Entry(whisper, sound),
    "vit": Entry(vit, images),
    "clip": Entry(clip, captions),
    "llava": Entry(llava, images_in_text),
    "qwen2-vl": Entry(qwen2_vl, patches_in_text),
}
