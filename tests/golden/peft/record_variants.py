"""Records what PEFT computes of the variants of LoRA, on models of ../tiny-models.

    python record_variants.py [case …]

Each case gets a folder in variants/ with the adapter that PEFT saved after its weights were changed
(adapter_config.json, adapter_model.safetensors in float32), and expected.safetensors, all of one
sequence in float64: the initial adapter (init.NAME) with its logits (init.logits), its loss
-Σ logp (init.loss) and every gradient (init.grad.NAME); the same of the saved adapter (logits,
loss, grad.NAME); and the logits without an adapter (base.logits). Names are those in PEFT's file.
"""

import copy
import json
import pathlib
import shutil
import sys

import peft
import torch
from peft import LoraConfig, get_peft_model
from peft.utils.save_and_load import get_peft_model_state_dict
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

torch.set_num_threads(1)
HERE = pathlib.Path(__file__).parent
IDS = [3, 17, 5, 40, 9, 77, 21, 64, 12, 30, 8, 51]
ALL = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
GPT2 = ["c_attn", "c_proj", "c_fc"]
CASES = {
    "dora": ("qwen2", dict(use_dora=True, target_modules=ALL, rank_pattern={"q_proj": 2})),
    "dora-rslora": ("llama", dict(
        use_dora=True, use_rslora=True, init_lora_weights=False, layers_to_transform=[1],
        target_modules=["q_proj", "v_proj", "down_proj"])),
    "dora-gpt2": ("gpt2", dict(use_dora=True, target_modules=GPT2)),
    "lora-bias": ("qwen2", dict(lora_bias=True, target_modules=["q_proj", "v_proj", "down_proj"])),
    "lora-bias-gpt2": ("gpt2", dict(lora_bias=True, target_modules=GPT2)),
    "bias-all": ("qwen2", dict(bias="all", target_modules=["q_proj", "up_proj"])),
    "bias-all-gpt2": ("gpt2", dict(bias="all", target_modules=["c_attn"])),
    "bias-lora-only": ("qwen2", dict(bias="lora_only", target_modules=["q_proj", "up_proj"])),
    "pissa": ("llama", dict(init_lora_weights="pissa", target_modules=ALL)),
    "pissa-rslora": ("smollm2", dict(
        init_lora_weights="pissa", use_rslora=True, target_modules=["q_proj", "down_proj"])),
    "pissa-gpt2": ("gpt2", dict(init_lora_weights="pissa", target_modules=GPT2)),
    "olora": ("llama", dict(init_lora_weights="olora", target_modules=ALL)),
    "embedding": ("llama", dict(target_modules=["embed_tokens", "v_proj"])),
    "embedding-tied": ("smollm2", dict(target_modules=["embed_tokens", "q_proj"], use_rslora=True)),
    "embedding-gpt2": ("gpt2", dict(target_modules=["wte", "c_attn"])),
    "tokens": ("llama", dict(trainable_token_indices=[5, 17, 90], target_modules=["q_proj"])),
    "tokens-tied": ("smollm2", dict(
        trainable_token_indices={"embed_tokens": [40, 3]}, target_modules=["q_proj"])),
    "tokens-gpt2": ("gpt2", dict(
        trainable_token_indices={"wte": [5, 17]}, target_modules=["c_attn"])),
}


def saved(model, tensors=None):
    """Tensors under the names of PEFT's file."""
    state = None if tensors is None else {n: t for n, t in tensors.items()}
    return get_peft_model_state_dict(model, state_dict=state, save_embedding_layers=False)


def measure(model, prefix):
    model.zero_grad()
    logits = model(torch.tensor([IDS])).logits[0]
    logp = torch.log_softmax(logits[:-1], -1)[torch.arange(len(IDS) - 1), torch.tensor(IDS[1:])]
    loss = -logp.sum()
    loss.backward()
    grads = {n: p.grad for n, p in model.named_parameters() if p.requires_grad}
    assert all(grad is not None for grad in grads.values()), [n for n in grads if grads[n] is None]
    names = {id(p): n for n, p in model.named_parameters()}
    # The state has a tied tensor under several names: one of them has the gradient.
    by_state = {n: grads[names[id(p)]] for n, p in model.state_dict(keep_vars=True).items()
                if id(p) in names and names[id(p)] in grads}
    named = {n: g for n, g in saved(model, by_state).items()}
    return {
        f"{prefix}logits": logits.detach().clone(), f"{prefix}loss": loss.detach().reshape(1),
        **{f"{prefix}grad.{n}": g.detach().clone() for n, g in named.items()},
    }


def record(name):
    base, options = CASES[name]
    folder = HERE / "variants" / name
    shutil.rmtree(folder, ignore_errors=True)
    torch.manual_seed(7)
    path = HERE.parent / "tiny-models" / base
    # PiSSA and OLoRA divide a weight only in float32.
    model = AutoModelForCausalLM.from_pretrained(
        path, dtype=torch.float32, attn_implementation="eager")
    with torch.no_grad():
        logits = copy.deepcopy(model).double()(torch.tensor([IDS])).logits[0]
    tensors = {"base.logits": logits.clone()}
    config = LoraConfig(task_type="CAUSAL_LM", r=4, lora_alpha=6, lora_dropout=0.0, **options)
    model = get_peft_model(model, config).double()
    with torch.no_grad():
        for p in model.parameters():
            if p.requires_grad:
                p.copy_(p.float().double())
    tensors |= {f"init.{n}": t.detach().clone() for n, t in saved(model).items()}
    tensors |= measure(model, "init.")
    with torch.no_grad():
        for n, p in model.named_parameters():
            if p.requires_grad:
                p.copy_((p + 0.15 * p.std().clamp(0.3) * torch.randn_like(p)).float().double())
    tensors |= measure(model, "")
    model.save_pretrained(folder, save_embedding_layers="auto")
    (folder / "README.md").unlink(missing_ok=True)
    file = folder / "adapter_model.safetensors"
    save_file({n: t.float() for n, t in load_file(file).items()}, file, {"format": "pt"})
    settings = json.loads((folder / "adapter_config.json").read_text())
    settings["base_model_name_or_path"] = f"../../../tiny-models/{base}"
    settings["target_modules"].sort()  # a set, in any order
    (folder / "adapter_config.json").write_text(json.dumps(settings, indent=2, sort_keys=True) + "\n")
    exact = ("logits", "loss")
    save_file({n: (t if n.endswith(exact) else t.float()).contiguous() for n, t in tensors.items()},
              folder / "expected.safetensors")
    print(name, sorted(n for n in load_file(file))[:3], float(tensors["loss"]))


if __name__ == "__main__":
    print("peft", peft.__version__, "torch", torch.__version__)
    for case in sys.argv[1:] or CASES:
        record(case)
