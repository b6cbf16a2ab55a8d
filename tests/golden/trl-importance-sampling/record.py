"""Records what TRL's GRPOTrainer computes of completions that another engine sampled.

Run once: python record.py > cases.json (TRL 1.16, transformers 5, torch). The trainer is TRL's own;
only generation, the rewards and the model's log-probabilities are replaced by the numbers below, so
that `_generate_and_score_completions` and `_compute_loss` get them. Everything is in float64.
"""
import json
import os
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
out, sys.stdout = sys.stdout, sys.stderr  # TRL prints its logs

import torch
import trl
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig, GRPOTrainer

torch.set_default_dtype(torch.float64)
MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../models/tinystories-656k")
LENGTHS = [5, 3, 1, 4, 5, 2]  # two groups of three completions
REWARDS = [1.0, 0.0, 0.5, 0.0, 2.0, 1.0]
N, T = len(LENGTHS), max(LENGTHS)


def table(f):
    return [[f(b, t) for t in range(LENGTHS[b])] for b in range(N)]


# The numbers are plain, so that a reader can check them; the differences reach beyond all bounds.
OLD = table(lambda b, t: -0.5 - ((3 * b + 5 * t) % 7) / 4)
POLICY = table(lambda b, t: OLD[b][t] + ((b + 2 * t) % 5 - 2) / 16)
SAMPLER = table(lambda b, t: OLD[b][t] + ((5 * b + 3 * t + b * t) % 9 - 4) / 8)
SAMPLER[1][1] = None  # the engine had no number for this token

CASES = []
for mode in ["token_truncate", "token_mask", "sequence_truncate", "sequence_mask"]:
    for low, high in [(None, 3.0), (None, 1.25), (0.8, None), (0.8, 1.25)]:
        CASES.append(dict(mode=mode, clip_min=low, clip_max=high, loss_type="dapo"))
CASES += [
    dict(mode="sequence_mask", clip_min=None, clip_max=3.0, loss_type="grpo"),
    dict(mode="sequence_mask", clip_min=0.5, clip_max=2.0, loss_type="grpo", beta=0.04),
    dict(mode="token_truncate", clip_min=None, clip_max=1.25, loss_type="vespo"),
    dict(mode="token_mask", clip_min=0.8, clip_max=1.25, loss_type="vespo"),
    dict(mode="token_truncate", clip_min=None, clip_max=3.0, loss_type="dapo", off_policy_mask_threshold=0.05),
    dict(mode="sequence_mask", clip_min=None, clip_max=3.0, loss_type="dapo", correction=False),
]
tokenizer = AutoTokenizer.from_pretrained(MODEL)


def padded(rows):
    return torch.tensor([row + [0.0] * (T - len(row)) for row in rows])


def record(case):
    with tempfile.TemporaryDirectory() as folder:
        args = GRPOConfig(
            output_dir=folder, per_device_train_batch_size=N, num_generations=3, report_to=[], use_cpu=True,
            max_completion_length=8, loss_type=case["loss_type"], beta=case.get("beta", 0.0),
            use_bias_correction_kl=True, off_policy_mask_threshold=case.get("off_policy_mask_threshold"),
            vllm_importance_sampling_correction=case.get("correction", True),
            vllm_importance_sampling_mode=case["mode"], vllm_importance_sampling_clip_max=case["clip_max"],
            vllm_importance_sampling_clip_min=case["clip_min"],
        )
        trainer = GRPOTrainer(
            model=AutoModelForCausalLM.from_pretrained(MODEL), args=args, processing_class=tokenizer,
            reward_funcs=lambda completions, **_: REWARDS,
            train_dataset=Dataset.from_list([{"prompt": "a"}] * 4),
        )
        trainer.use_vllm = True
        ids = [[5] * length for length in LENGTHS]
        trainer._generate = lambda prompts: (
            [[3]] * N, ids, None, ["x"] * N, SAMPLER, {}, None, None,
        )
        logps = {"now": padded(OLD)}
        trainer._get_per_token_logps_and_entropies = lambda *_, **__: (
            logps["now"], torch.zeros(N, T), None,
        )
        trainer.model.train()
        scored = trainer._generate_and_score_completions([{"prompt": "a"}] * N)
        trainer.current_gradient_accumulation_steps = 1  # the training loop sets it
        policy = padded(POLICY).requires_grad_()
        logps["now"] = policy
        scored["old_per_token_logps"] = padded(OLD)
        if "beta" in case:
            scored["ref_per_token_logps"] = padded(OLD)
        loss = trainer._compute_loss(trainer.model, scored)
        loss.backward()
        ratio = scored.get("importance_sampling_ratio")
        metrics = {
            name: values[-1] for name, values in trainer._metrics["train"].items()
            if name.startswith("sampling/")
        }
        rows = range(N)
        return dict(
            **case,
            ratio=None if ratio is None else [
                ratio.expand(N, T)[b][: LENGTHS[b]].tolist() for b in rows
            ],
            advantages=scored["advantages"].flatten().tolist(),
            metrics=metrics,
            loss=loss.item(),
            gradient=[policy.grad[b][: LENGTHS[b]].tolist() for b in rows],
        )


print(
    json.dumps(
        dict(trl=trl.__version__, lengths=LENGTHS, old=OLD, policy=POLICY, sampler=SAMPLER,
             cases=[record(case) for case in CASES]),
        indent=1,
    ),
    file=out,
)
