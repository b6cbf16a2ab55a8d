"""Records what transformers computes of tiny random models of each family, and PEFT of an adapter.

    python record.py FOLDER [family …]

Each family gets a folder: config.json and model.safetensors as transformers saves them,
expected.safetensors with the logits of two sequences (float64) and every gradient of their loss
(the sum over all predicted tokens), expected.json with that loss and greedy continuations; and
adapter/, which PEFT saved, with the logits of the first sequence through it. Angles and most norms
are computed in float32 by transformers, also in a float64 model.
"""

import json
import pathlib
import shutil
import sys

import peft
import torch
import transformers
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText

transformers.logging.set_verbosity_error()
torch.set_num_threads(1)
SIZES = {
    "vocab_size": 48, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 4,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 128,
    "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0,
}
HEAD = {"head_dim": 8}
YARN = {
    "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8, "beta_fast": 4.0,
    "beta_slow": 1.0,
}
LONG = {
    "rope_type": "longrope", "short_factor": [1.0, 1.5], "long_factor": [2.0, 3.0],
    "partial_rotary_factor": 0.5, "rope_theta": 1000.0, "original_max_position_embeddings": 64,
}
GRANITE = {
    "embedding_multiplier": 6.0, "attention_multiplier": 0.25, "residual_multiplier": 0.22,
    "logits_scaling": 4.0, "tie_word_embeddings": True,
}
BY_TYPE = {
    "full_attention": {"rope_theta": 1000.0, "rope_type": "linear", "factor": 8.0},
    "sliding_attention": {"rope_theta": 100.0, "rope_type": "default"},
}
FAMILIES = {
    "smollm3": {**SIZES, "rope_parameters": {"rope_theta": 500.0, "rope_type": "default"}},
    "ministral3": {**SIZES, **HEAD, "rope_parameters": {
        **YARN, "rope_theta": 1000.0, "mscale": 1.0, "mscale_all_dim": 1.0,
        "llama_4_scaling_beta": 0.3,
    }},
    "granite": {**SIZES, **GRANITE, "attention_bias": True, "mlp_bias": True},
    "granitemoehybrid": {
        **SIZES, **GRANITE, "num_local_experts": 0, "num_experts_per_tok": 0,
        "shared_intermediate_size": 24, "layer_types": ["full_attention"] * 4,
        "position_embedding_type": "rope", "mamba_n_heads": 4, "mamba_d_head": 8,
        "rope_parameters": {"rope_theta": 500.0, "rope_type": "default"},
    },
    "olmo2": {**SIZES, "rope_parameters": {"rope_theta": 500.0, "rope_type": "default"}},
    "olmo3": {**SIZES, "sliding_window": 5, "rope_parameters": {
        "full_attention": {**YARN, "rope_theta": 500.0},
        "sliding_attention": {"rope_theta": 500.0, "rope_type": "default"},
    }},
    "phi3": {
        **SIZES, "hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2,
        "original_max_position_embeddings": 64, "sliding_window": 9, "tie_word_embeddings": True,
        "rope_parameters": LONG,
    },
    "gemma3_text": {
        **SIZES, **HEAD, "num_hidden_layers": 6, "sliding_window": 5, "query_pre_attn_scalar": 24,
        "rope_parameters": BY_TYPE,
    },
    "gemma2": {
        **SIZES, **HEAD, "sliding_window": 5, "query_pre_attn_scalar": 24,
        "attn_logit_softcapping": 6.0, "final_logit_softcapping": 8.0,
    },
    "lfm2": {
        **SIZES, "num_hidden_layers": 5, "full_attn_idxs": [2, 4], "conv_L_cache": 3,
        "block_multiple_of": 8, "block_ffn_dim_multiplier": 1.0, "intermediate_size": 34,
        "rope_parameters": {"rope_theta": 500.0, "rope_type": "default"},
    },
    "qwen3_moe": {
        **SIZES, **HEAD, "num_hidden_layers": 3, "moe_intermediate_size": 16, "num_experts": 5,
        "num_experts_per_tok": 2, "norm_topk_prob": True, "router_aux_loss_coef": 0.5,
        "rope_parameters": {"rope_theta": 500.0, "rope_type": "default"},
    },
    "mixtral": {
        **SIZES, "num_hidden_layers": 2, "num_local_experts": 4, "num_experts_per_tok": 2,
        "sliding_window": 9, "router_aux_loss_coef": 0.5,
        "rope_parameters": {"rope_theta": 500.0, "rope_type": "default"},
    },
    "gpt_oss": {
        **SIZES, **HEAD, "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 3,
        "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 5,
        "swiglu_limit": 0.8, "router_aux_loss_coef": 0.5,
        "rope_parameters": {**YARN, "rope_theta": 500.0, "truncate": False},
    },
    "qwen3_5_text": {
        **SIZES, "head_dim": 16, "linear_num_key_heads": 2, "linear_num_value_heads": 4,
        "linear_key_head_dim": 8, "linear_value_head_dim": 4, "tie_word_embeddings": True,
        "rope_parameters": {
            "rope_theta": 500.0, "rope_type": "default", "partial_rotary_factor": 0.25,
            "mrope_section": [1, 1, 0], "mrope_interleaved": True,
        },
    },
    "gemma4_text": {
        **SIZES, **HEAD, "num_hidden_layers": 6, "sliding_window": 5, "global_head_dim": 16,
        "layer_types": ["sliding_attention", "full_attention"] * 3, "num_kv_shared_layers": 3,
        "use_double_wide_mlp": True, "hidden_size_per_layer_input": 6,
        "vocab_size_per_layer_input": 48, "final_logit_softcapping": 8.0, "rope_parameters": {
            "full_attention": {
                "rope_theta": 1000.0, "rope_type": "proportional", "partial_rotary_factor": 0.25,
            },
            "sliding_attention": {"rope_theta": 100.0, "rope_type": "default"},
        },
    },
}


SIGLIP = {
    "model_type": "siglip_vision_model", "hidden_size": 8, "intermediate_size": 8,
    "num_hidden_layers": 1, "num_attention_heads": 2, "image_size": 28, "patch_size": 14,
}
PIXTRAL = {
    "model_type": "pixtral", "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1,
    "num_attention_heads": 2, "image_size": 28, "patch_size": 14, "head_dim": 4,
}
QWEN_VISION = {
    "depth": 1, "hidden_size": 8, "intermediate_size": 8, "num_heads": 2, "patch_size": 4,
    "out_hidden_size": 16, "num_position_embeddings": 16,
}
GEMMA_VISION = {
    "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
    "num_key_value_heads": 2, "head_dim": 4, "patch_size": 4, "position_embedding_size": 16,
}
# Models that also see; only their text is computed.
FAMILIES |= {
    "gemma3": {"vision_config": SIGLIP, "mm_tokens_per_image": 4, "text_config": {
        "model_type": "gemma3_text", **FAMILIES["gemma3_text"],
    }},
    "mistral3": {
        "vision_config": PIXTRAL, "tie_word_embeddings": False,
        "text_config": {"model_type": "ministral3", **FAMILIES["ministral3"]},
    },
    "qwen3_5": {
        "vision_config": QWEN_VISION, "tie_word_embeddings": True,
        "text_config": {"model_type": "qwen3_5_text", **FAMILIES["qwen3_5_text"]},
    },
    "gemma4": {
        "vision_config": GEMMA_VISION, "audio_config": None,
        "text_config": {"model_type": "gemma4_text", **FAMILIES["gemma4_text"]},
    },
}


def in_float64():
    """Lets a float64 model stay in float64 where transformers goes to float32: delta rules, norms."""
    narrow, to = torch.Tensor.float, torch.Tensor.to
    stays = lambda x: x.dtype == torch.float64
    torch.Tensor.float = lambda x: x if stays(x) else narrow(x)
    torch.Tensor.to = lambda x, *args, **more: (
        x if stays(x) and torch.float32 in args else to(x, *args, **more)
    )


def loss_of(logits, ids):
    logp = torch.log_softmax(logits[:-1], -1)
    return -logp[torch.arange(len(ids) - 1), torch.tensor(ids[1:])].sum()


def greedy(model, ids, count):
    ids, gap = list(ids), 1e9
    for _ in range(count):
        with torch.no_grad():
            best = model(torch.tensor([ids])).logits[0, -1].topk(2)
        gap = min(gap, float(best.values[0] - best.values[1]))
        ids.append(int(best.indices[0]))
    return ids[-count:], gap


def balance(model, ids):
    """The loss that balances experts, and its gradients, without the row of the last token."""
    model.zero_grad()
    loss = model(torch.tensor([ids[:-1]]), output_router_logits=True).aux_loss
    loss.backward()
    some = [(n, p.grad) for n, p in model.named_parameters() if p.grad is not None and p.dim() < 3]
    grads = {n: grad.float() for n, grad in some}
    return {"balance": loss.detach()[None], **{f"balance.{n}": g for n, g in grads.items()}}


def record(family, folder):
    torch.manual_seed(len(family))
    kind = AutoModelForImageTextToText if "vision_config" in FAMILIES[family] else AutoModelForCausalLM
    model = kind.from_config(
        AutoConfig.for_model(family, **FAMILIES[family]), attn_implementation="eager"
    )
    for name, parameter in model.named_parameters():
        if parameter.dim() == 1 and "bias" not in name and "sinks" not in name:
            parameter.data += 0.3 * torch.randn_like(parameter)
        else:
            parameter.data = (0.9 if "embed" in name else 0.35) * torch.randn_like(parameter)
    for name, buffer in model.named_buffers():
        if name.endswith("layer_scalar"):
            buffer.data = 1 + 0.3 * torch.randn_like(buffer)
    shutil.rmtree(folder, ignore_errors=True)
    model.float().save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    model = kind.from_pretrained(
        folder, dtype=torch.float64, attn_implementation="eager", experts_implementation="eager"
    )
    sequences = [torch.randint(3, 48, (n,)).tolist() for n in (13, 21)]
    tensors, losses = {}, []
    for i, ids in enumerate(sequences):
        logits = model(torch.tensor([ids])).logits[0]
        tensors[f"logits64.{i}"] = logits.detach().clone()
        losses.append(loss_of(logits, ids))
    sum(losses).backward()
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            tensors[f"grad.{name.replace('language_model.', '')}"] = parameter.grad.float()
    save_file(tensors, folder / "expected.safetensors")
    if getattr(model.config, "router_aux_loss_coef", None):
        save_file(balance(model, sequences[0]), folder / "balance.safetensors")
    texts = [greedy(model, ids, 12) for ids in sequences]
    expected = {
        "transformers": transformers.__version__, "input_ids": sequences,
        "loss": {"f64": float(sum(losses))}, "greedy": [text for text, _ in texts],
        "greedy_smallest_gap": [gap for _, gap in texts],
    }
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")
    record_adapter(model, folder / "adapter", sequences[0])
    print(family, expected["loss"], expected["greedy_smallest_gap"], flush=True)


def record_adapter(model, folder, ids):
    sees = any("language_model" in name for name, _ in model.named_modules())
    targets = r".*language_model.*\.[a-z]+_proj(_[a-z]+)?" if sees else "all-linear"
    experts = [n for n in ("gate_up_proj", "down_proj") if getattr(model.config, "num_experts", None)]
    options = peft.LoraConfig(
        r=2, lora_alpha=4, target_modules=targets, task_type="CAUSAL_LM",
        **({"target_parameters": [f"mlp.experts.{n}" for n in experts]} if experts else {}),
    )
    adapted = peft.get_peft_model(model, options)
    for name, parameter in adapted.named_parameters():
        if "lora_" in name:
            parameter.data = 0.3 * torch.randn_like(parameter)
    adapted.save_pretrained(folder)
    (folder / "README.md").unlink()
    with torch.no_grad():
        logits = adapted(torch.tensor([ids])).logits[0]
    save_file({"logits64": logits}, folder / "expected.safetensors")
    config = json.loads((folder / "adapter_config.json").read_text())
    config["base_model_name_or_path"] = ".."
    # A set in PEFT, whose order changes from run to run.
    if isinstance(config["target_modules"], list):
        config["target_modules"].sort()
    (folder / "adapter_config.json").write_text(json.dumps(config, indent=1, sort_keys=True) + "\n")


def record_mxfp4(folder):
    """Random blocks and scales of experts, and the values that transformers makes of them."""
    from transformers.integrations.mxfp4 import _convert_moe_packed_tensors

    name = "model.layers.0.mlp.experts.down_proj"
    blocks = torch.randint(0, 256, (2, 3, 2, 16), dtype=torch.uint8)
    scales = torch.randint(120, 132, (2, 3, 2), dtype=torch.uint8)
    values = _convert_moe_packed_tensors(blocks, scales).contiguous()
    tensors = {f"{name}_blocks": blocks, f"{name}_scales": scales, "values": values}
    save_file(tensors, folder / "mxfp4.safetensors")


for family in sys.argv[2:] or FAMILIES:
    if family.startswith(("qwen3_5", "gemma4")):
        in_float64()  # These are the last ones.
    record(family, pathlib.Path(sys.argv[1], family))
    if family == "gpt_oss":
        record_mxfp4(pathlib.Path(sys.argv[1], family))
