"""Records what transformers computes with each key of a config.json changed, one by one.

    python record.py cases.json llama mistral qwen2 qwen3 gpt2
    python record.py families.json smollm3 ministral3 granite granitemoehybrid olmo2 olmo3 phi3 \
        gemma3_text
    python record.py gemma2_lfm2.json gemma2 lfm2
    python record.py qwen3_5.json qwen3_5_text
    python record.py gpt_oss.json gpt_oss
    python record.py gemma4.json gemma4_text

The weights are a function of their names (`weight` below, and in config_keys_golden_test.ts), so the
file holds none. Each case is a folder with a changed config.json and the weights of the unchanged
model, with the further tensors that the changed one has; `head` says which head stands in the file.
"""

import json
import pathlib
import sys
import tempfile

import numpy
import torch
import transformers
from safetensors.numpy import save_file
from transformers import AutoConfig, AutoModelForCausalLM

transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
torch.set_num_threads(1)
FAST = "/dev/shm" if pathlib.Path("/dev/shm").is_dir() else None
TOKENS = [7, 31, 2, 19, 5, 5, 28, 11, 36, 0, 14, 23, 9, 17, 30, 3, 22, 38, 6, 12, 27, 1, 33, 8]
SIZES = {
    "vocab_size": 40, "hidden_size": 32, "intermediate_size": 24, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "rms_norm_eps": 1e-5,
    "max_position_embeddings": 64, "hidden_act": "silu", "tie_word_embeddings": False,
    "bos_token_id": 0, "eos_token_id": 1,
}
ROPE = {"rope_parameters": {"rope_theta": 100.0, "rope_type": "default"}}
BASES = {
    "llama": {"model_type": "llama", **SIZES, **ROPE},
    "mistral": {"model_type": "mistral", **SIZES, **ROPE, "sliding_window": None},
    "qwen2": {"model_type": "qwen2", **{k: v for k, v in SIZES.items() if k != "head_dim"}, **ROPE},
    "qwen3": {"model_type": "qwen3", **SIZES, **ROPE},
    "gpt2": {
        "model_type": "gpt2", "vocab_size": 40, "n_embd": 32, "n_inner": 24, "n_layer": 2,
        "n_head": 4, "n_positions": 64, "layer_norm_epsilon": 1e-5,
        "activation_function": "gelu_new", "tie_word_embeddings": False,
        "bos_token_id": 0, "eos_token_id": 1,
    },
}
FULL, SLIDING = "full_attention", "sliding_attention"
NO_HEAD = {k: v for k, v in SIZES.items() if k != "head_dim"}
SIZES = {**SIZES, "pad_token_id": 0}
NO_HEAD = {**NO_HEAD, "pad_token_id": 0}
BY_TYPE = {
    "sliding_window": 5, "layer_types": [SLIDING, FULL], "rope_parameters": {
        FULL: {"rope_type": "default", "rope_theta": 100.0},
        SLIDING: {"rope_type": "default", "rope_theta": 50.0},
    },
}
BASES |= {
    "smollm3": {"model_type": "smollm3", **NO_HEAD, **ROPE, "no_rope_layers": [1, 0]},
    "ministral3": {"model_type": "ministral3", **SIZES, "rope_parameters": {
        "rope_theta": 100.0, "rope_type": "yarn", "factor": 4.0, "llama_4_scaling_beta": 0.5,
        "original_max_position_embeddings": 8,
    }},
    "granite": {"model_type": "granite", **NO_HEAD, **ROPE},
    "granitemoehybrid": {
        "model_type": "granitemoehybrid", **NO_HEAD, **ROPE, "shared_intermediate_size": 24,
        "num_local_experts": 0, "num_experts_per_tok": 0, "layer_types": [FULL, FULL],
        "position_embedding_type": "rope", "mamba_n_heads": 4, "mamba_d_head": 16,
    },
    "olmo2": {"model_type": "olmo2", **NO_HEAD, **ROPE},
    "olmo3": {"model_type": "olmo3", **NO_HEAD, **BY_TYPE},
    "phi3": {"model_type": "phi3", **NO_HEAD, **ROPE},
    "gemma3_text": {
        "model_type": "gemma3_text", **{k: v for k, v in SIZES.items() if k != "hidden_act"},
        **BY_TYPE, "query_pre_attn_scalar": 16,
    },
    "gemma2": {
        "model_type": "gemma2", **{k: v for k, v in SIZES.items() if k != "hidden_act"}, **ROPE,
        "sliding_window": 5, "query_pre_attn_scalar": 16, "attn_logit_softcapping": 0.5,
        "final_logit_softcapping": 0.3,
    },
    "lfm2": {
        "model_type": "lfm2", **{k: v for k, v in NO_HEAD.items() if k != "rms_norm_eps"}, **ROPE,
        "norm_eps": 1e-5, "full_attn_idxs": [1], "block_multiple_of": 8, "conv_L_cache": 3,
    },
    "qwen3_5_text": {
        "model_type": "qwen3_5_text", **SIZES, **ROPE, "full_attention_interval": 2,
        "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8,
        "linear_value_head_dim": 4, "linear_conv_kernel_dim": 4,
    },
    "gpt_oss": {
        "model_type": "gpt_oss", **SIZES, **ROPE, "sliding_window": 5, "num_local_experts": 3,
        "num_experts_per_tok": 2, "swiglu_limit": 0.5,
    },
    "gemma4_text": {
        "model_type": "gemma4_text", **{k: v for k, v in SIZES.items() if k != "hidden_act"},
        **BY_TYPE, "num_hidden_layers": 4, "layer_types": [SLIDING, FULL] * 2,
        "global_head_dim": 24, "num_kv_shared_layers": 2, "hidden_size_per_layer_input": 6,
        "vocab_size_per_layer_input": 40, "final_logit_softcapping": 0.3,
    },
}
LINEAR = {"rope_type": "linear", "factor": 4.0}
DYNAMIC = {"rope_type": "dynamic", "factor": 4.0}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8}
LLAMA3 = {
    "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}
LONG = {
    "rope_type": "longrope", "factor": 4.0, "original_max_position_embeddings": 16,
    "short_factor": [1.0 + i / 8 for i in range(8)], "long_factor": [2.0 + i for i in range(8)],
}
ACTS = ["gelu", "gelu_new", "gelu_pytorch_tanh", "relu", "swish", "tanh", "quick_gelu", None]
# Values of keys; the other keys get values by the type of their default.
VALUES = {
    "hidden_act": ACTS,
    "activation_function": ACTS + ["silu"],
    "rope_parameters": [
        None, {}, LINEAR, DYNAMIC, YARN, LLAMA3, LONG, {"rope_theta": 1000.0},
        {"rope_type": "default", "rope_theta": 1000.0, "partial_rotary_factor": 0.5},
        {**LINEAR, "rope_theta": 50.0}, {"type": "linear", "factor": 4.0},
        {**YARN, "beta_fast": 4.0, "beta_slow": 2.0}, {**YARN, "attention_factor": 1.5},
        {**YARN, "mscale": 0.7, "mscale_all_dim": 0.3}, {**YARN, "truncate": False},
        {**LINEAR, "factor": 0.5}, {**LINEAR, "original_max_position_embeddings": 8},
        {"rope_type": "default", "factor": 4.0}, {"rope_type": "proportional", "factor": 2.0},
        {FULL: {"rope_type": "default", "rope_theta": 1000.0}},
        {**DYNAMIC, "original_max_position_embeddings": 8}, {"rope_type": "mrope"},
        {FULL: {**LINEAR, "rope_theta": 100.0}, SLIDING: {"rope_theta": 20.0}},
        {FULL: {**YARN, "rope_theta": 100.0}, SLIDING: None},
        {SLIDING: {"rope_type": "default", "rope_theta": 20.0}},
        {FULL: {"rope_theta": 100.0}, SLIDING: {**YARN, "rope_theta": 20.0}},
        {**YARN, "rope_theta": 100.0, "llama_4_scaling_beta": 0.2},
        {**YARN, "rope_theta": 100.0, "llama_4_scaling_beta": 0},
        {"rope_type": "default", "llama_4_scaling_beta": 0.2, "original_max_position_embeddings": 4},
        {FULL: {"rope_type": "proportional", "rope_theta": 100.0, "partial_rotary_factor": 0.5},
         SLIDING: {"rope_type": "default", "rope_theta": 20.0}},
        {**LONG, "rope_theta": 100.0, "partial_rotary_factor": 0.5, "short_factor": [1.0, 2.0],
         "long_factor": [2.0, 3.0]},
    ],
    "rope_scaling": [
        None, {}, LINEAR, DYNAMIC, YARN, LLAMA3, LONG, {"type": "linear", "factor": 4.0},
        {"rope_theta": 1000.0}, {"rope_type": "default"}, {**LINEAR, "rope_theta": 50.0},
        {"rope_type": "default", "factor": 4.0}, {"type": "linear", "rope_type": "dynamic", "factor": 4.0},
    ],
    "rope_theta": [None, 1000.0, 100, 1e6],
    "partial_rotary_factor": [None, 1.0, 0.5],
    "original_max_position_embeddings": [None, 8],
    "sliding_window": [None, 5, 4096, 0, 1],
    "use_sliding_window": [None, True, False],
    "max_window_layers": [None, 0, 1, 2],
    "layer_types": [
        None, [], [FULL, FULL], [SLIDING, SLIDING], [FULL, SLIDING], [FULL], ["chunked_attention"] * 2,
        ["conv", "conv"], ["conv", FULL], [FULL, "conv"], ["linear_attention", FULL],
        [FULL, "linear_attention"], ["linear_attention"] * 2,
        [FULL, SLIDING, SLIDING, FULL], [SLIDING] * 4, [FULL] * 4, ["chunked_attention"] * 4,
        [FULL, SLIDING, FULL, SLIDING], [SLIDING, SLIDING, FULL, FULL],
    ],
    "global_head_dim": [None, 16, 24, 32, 7, 0],
    "num_global_key_value_heads": [None, 1, 2, 4],
    "num_kv_shared_layers": [None, 0, 1, 2, 3, 4, 5, -1],
    "hidden_size_per_layer_input": [None, 0, 6, 8],
    "vocab_size_per_layer_input": [None, 40, 41, 20],
    "use_bidirectional_attention": [None, "all", "vision", True],
    "final_logit_softcapping": [None, 0.2, 5, 0],
    "attn_logit_softcapping": [None, 0.2, 5, 0],
    "full_attn_idxs": [None, [], [0], [0, 1], [1]],
    "block_multiple_of": [None, 1, 16, 0],
    "block_ffn_dim_multiplier": [None, 1.5, 2, 0.4],
    "block_ff_dim": [None, 36, 24],
    "conv_L_cache": [None, 2, 4, 1],
    "tie_embedding": [None, True, False],
    "full_attention_interval": [None, 1, 2, 3, 0],
    "linear_num_key_heads": [None, 1, 2, 4, 3, 0],
    "linear_num_value_heads": [None, 2, 6, 3, 0],
    "attn_output_gate": [None, True, False],
    "mlp_only_layers": [None, [], [0]],
    "mamba_ssm_dtype": [None, "float32", "bfloat16"],
    "mtp_num_hidden_layers": [None, 0, 1],
    "no_rope_layers": [None, [], [1, 1], [0, 0], [0, 1], [1], [1, 0, 1], [2, 0]],
    "no_rope_layer_interval": [None, 1, 2, 3, 0],
    "sliding_window_pattern": [None, 1, 2, 3, 0],
    "rope_local_base_freq": [None, 20.0],
    "position_embedding_type": [None, "rope", "nope", "absolute"],
    "num_local_experts": [None, 0, 2],
    "hidden_activation": ACTS,
    "quantization_config": [None, {"quant_method": "gptq", "bits": 4}],
    "dtype": ["float16", "bfloat16", "float32"],
    "torch_dtype": ["float16"],
    "pruned_heads": [None, {}, {"0": [1]}],
    "id2label": [None, {"0": "a", "1": "b", "2": "c"}],
    "label2id": [None, {"a": 0, "b": 1, "c": 2}],
    "architectures": [None, [], ["GPT2LMHeadModel"], ["LlamaForCausalLM"], ["LlamaModel"]],
    "model_type": [
        "llama", "mistral", "qwen2", "qwen3", "gpt2", "gemma", "phi3", "olmo2", "granite",
    ],
    "per_layer_config": [
        None, {"0": {"intermediate_size": 8}}, {}, {"1": {"head_dim": 24}, "3": {"head_dim": 24}},
        {"1": {"head_dim": 24}}, {"0": {"head_dim": 24}, "2": {"head_dim": 24}},
        {"1": {"num_key_value_heads": 1}, "3": {"num_key_value_heads": 1}},
    ],
    "eos_token_id": [None, 2, [1, 2], "x"],
    "summary_type": ["last"], "problem_type": [None, "regression"],
    "transformers_version": ["4.30.0", None],
    "attn_implementation": ["eager", None], "experts_implementation": [None],
}
# Keys of older versions and of other models.
MORE = [
    "rope_scaling", "rope_theta", "partial_rotary_factor", "original_max_position_embeddings",
    "sliding_window", "use_sliding_window", "max_window_layers", "layer_types", "pretraining_tp",
    "attention_bias", "mlp_bias", "head_dim", "quantization_config", "torch_dtype", "pruned_heads",
    "tie_encoder_decoder", "per_layer_config", "attn_implementation", "hidden_size",
    "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "n_ctx", "n_inner",
    "use_mrope", "rope_interleaved", "logit_scale", "attention_multiplier", "embedding_multiplier",
    "residual_multiplier", "final_logit_softcapping", "attn_logit_softcapping", "qk_norm",
    "use_qk_norm", "query_pre_attn_scalar", "no_rope_layers", "attention_dropout", "hidden_act",
    "no_rope_layer_interval", "sliding_window_pattern", "rope_local_base_freq", "hidden_activation",
    "num_nextn_predict_layers", "num_experts", "torchscript", "use_bfloat16", "layer_norm_eps",
    "block_ff_dim", "tie_embedding", "conv_dim", "use_pos_enc", "block_use_swiglu",
    "full_attention_interval", "linear_num_key_heads", "linear_num_value_heads",
    "linear_key_head_dim", "linear_value_head_dim", "linear_conv_kernel_dim", "attn_output_gate",
    "mlp_only_layers", "mamba_ssm_dtype", "mtp_num_hidden_layers", "qkv_bias", "norm_eps", "intermediate_size", "max_position_embeddings", "rms_norm_eps",
    "global_head_dim", "num_global_key_value_heads",
]
# Several keys at once.
TOGETHER = [
    {"use_sliding_window": True, "sliding_window": 5},
    {"use_sliding_window": True, "sliding_window": 5, "max_window_layers": 0},
    {"use_sliding_window": True, "sliding_window": 5, "max_window_layers": 1},
    {"use_sliding_window": True, "sliding_window": 5, "max_window_layers": 2},
    {"use_sliding_window": True, "sliding_window": 5, "layer_types": [SLIDING, SLIDING]},
    {"use_sliding_window": True, "sliding_window": 5, "layer_types": [FULL, FULL]},
    {"use_sliding_window": False, "sliding_window": 5, "layer_types": [SLIDING, SLIDING]},
    {"sliding_window": 5, "layer_types": [FULL, FULL]},
    {"sliding_window": 5, "layer_types": [SLIDING, SLIDING]},
    {"rope_parameters": None, "rope_theta": 1000.0},
    {"rope_parameters": None, "rope_theta": 1000.0, "rope_scaling": LINEAR},
    {"rope_parameters": LINEAR, "rope_theta": 1000.0},
    {"rope_parameters": {"rope_theta": 1000.0, **LINEAR}, "rope_scaling": YARN},
    {"rope_parameters": {"rope_theta": 1000.0, **YARN}, "rope_scaling": LINEAR},
    {"rope_parameters": {"rope_theta": 1000.0, **LINEAR}, "rope_scaling": {"type": "linear", "factor": 4.0}},
    {"rope_parameters": {"rope_theta": 1000.0, **LINEAR}, "rope_scaling": LINEAR, "rope_theta": 1000.0},
    {"rope_parameters": {"rope_theta": 1000.0, **LINEAR}, "rope_scaling": LINEAR, "rope_theta": 100.0},
    {"rope_parameters": YARN, "original_max_position_embeddings": 16},
    {"rope_parameters": LLAMA3, "original_max_position_embeddings": 8},
    {"rope_parameters": None, "rope_theta": 1000.0, "partial_rotary_factor": 0.5},
    {"rope_theta": 1000.0, "rope_scaling": {"rope_type": "default"}},
]


def weight(name, shape):
    """Values in ±0.25 that float32 holds exactly (embeddings ±0.06); those of norms are near 1."""
    h = 2166136261
    for byte in name.encode():
        h = (h ^ byte) * 16777619 % 2**32
    i = numpy.arange(int(numpy.prod(shape)), dtype=numpy.uint64)
    x = (i * 2654435761 + h) % 2**32
    x = (x ^ (x >> 16)) * 2246822507 % 2**32
    x = (x ^ (x >> 13)) * 3266489909 % 2**32
    unit = ((x ^ (x >> 16)) >> 8).astype(numpy.float64) / 2**24 - 0.5
    is_norm = name.endswith(
        ("norm.weight", "ln_1.weight", "ln_2.weight", "ln_f.weight", "layer_scalar")
    )
    is_table = name.endswith(("embed_tokens.weight", "wte.weight", "wpe.weight"))
    values = 1 + unit / 2 if is_norm else unit / 8 if is_table else unit / 2
    return values.astype(numpy.float32).reshape(shape)


def shapes_of(json):
    """Names and shapes of a configuration's own tensors."""
    with tempfile.TemporaryDirectory(dir=FAST) as folder:
        pathlib.Path(folder, "config.json").write_text(json_text(json))
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(folder))
    return {name: list(values.shape) for name, values in model.state_dict().items()}


def json_text(value):
    return json.dumps(value)


def logits(json, tensors):
    with tempfile.TemporaryDirectory(dir=FAST) as folder:
        pathlib.Path(folder, "config.json").write_text(json_text(json))
        save_file(tensors, folder + "/model.safetensors", {"format": "pt"})
        # The grouped products of experts have no float64.
        how = {"experts_implementation": "eager"} if "num_local_experts" in json else {}
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64, **how)
        model.eval()
        # A parameter that the file lacks would have random values.
        missing = [n for n in model.state_dict() if n not in tensors and n != "lm_head.weight"]
        if missing:
            raise ValueError(f"not in the file: {missing}")
        with torch.no_grad():
            out = model(torch.tensor([TOKENS]), use_cache=False).logits[0, -1]
        if not out.isfinite().all():
            raise ValueError("logits are not finite")
        return [float(f"{x:.8g}") for x in out]


def generic(value):
    if isinstance(value, bool):
        return [not value, None]
    if isinstance(value, int):
        return [value * 2, value + 1, 1, 0, None]
    if isinstance(value, float):
        return [value / 2, value + 0.25, 0, None]
    if isinstance(value, str):
        return ["x", None]
    return [None, True, 1]


def in_float64():
    """Lets norms of a float64 model stay in float64 (../families/record.py)."""
    narrow = torch.Tensor.float
    torch.Tensor.float = lambda x: x if x.dtype == torch.float64 else narrow(x)


def main():
    if "gemma4_text" in sys.argv[2:]:
        in_float64()
    cases, results, seen = [], [], {}
    for family in sys.argv[2:]:
        base = BASES[family]
        with_defaults = AutoConfig.for_model(**base).to_dict()
        full = shapes_of(base)
        changes = []
        for key in sorted({*with_defaults, *MORE}):
            if key == "_name_or_path":
                continue
            default = base.get(key, with_defaults.get(key))
            for value in VALUES.get(key, generic(default)):
                changes.append(({key: value}, "own"))
        changes += [(change, "own") for change in TOGETHER if family != "gpt2"]
        for head in ["own", "same", "none"]:
            changes += [({"tie_word_embeddings": tied}, head) for tied in [True, False]]
        embedding = "transformer.wte.weight" if family == "gpt2" else "model.embed_tokens.weight"
        for change, head in [({}, "own")] + changes:
            text = json_text([family, change, head])
            if text in seen:
                continue
            seen[text] = True
            json = {**base, **change}
            shapes = dict(full)
            try:
                changed = shapes_of(json)
                if sum(int(numpy.prod(shape)) for shape in changed.values()) > 10**6:
                    continue  # The family's default sizes: the keys are those of another one.
                for name, shape in changed.items():
                    shapes.setdefault(name, shape)
            except Exception:
                pass
            tensors = {name: weight(name, shape) for name, shape in shapes.items()}
            if head == "none":
                del tensors["lm_head.weight"]
            if head == "same":
                tensors["lm_head.weight"] = tensors[embedding].copy()
            extra = {name: shape for name, shape in shapes.items() if name not in full}
            case = {"family": family, "change": change, "head": head}
            if extra:
                case["extra"] = extra
            try:
                row = logits(json, tensors)
                if row not in results:
                    results.append(row)
                case["result"] = results.index(row)
            except Exception as error:
                case["error"] = f"{type(error).__name__}: {error}".splitlines()[0][:160]
            cases.append(case)
            if len(cases) % 100 == 0:
                print(len(cases), family, file=sys.stderr, flush=True)
    bases = {family: BASES[family] for family in sys.argv[2:]}
    out = {
        "made": f"transformers {transformers.__version__}, torch {torch.__version__}, record.py",
        "tokens": TOKENS, "bases": bases, "results": results, "cases": cases,
    }
    lines = [json_text(case) for case in cases]
    head = {k: v for k, v in out.items() if k != "cases"}
    text = json_text(head)[:-1] + ', "cases": [\n' + ",\n".join(lines) + "\n]}\n"
    pathlib.Path(sys.argv[1]).write_text(text)
    print(len(cases), "cases", len(results), "results", sum("error" in c for c in cases), "errors")


main()
