"""Records cases.json: steps of TRL's DPOTrainer on models/tinystories-656k, in float64.

    python record.py       (TRL 1.16, transformers 5.23, PEFT 0.21, torch on a CPU)

Each case has three steps of two micro-batches of two pairs, in the order of the rows.
"""

import copy
import json
import tempfile

import torch
from datasets import Dataset
from peft import LoraConfig, PeftModel
from torch.utils.data import SequentialSampler
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import DPOConfig, DPOTrainer

MODEL = "../models/tinystories-656k"
ADAPTER = "../trl-step/adapter"
ROWS = [
    {
        "prompt": f"Once upon a time, {name} went",
        "chosen": f" to the {place} and was very {mood}.",
        "rejected": f" away from the {place}. It was not {mood}, not at all." if i % 3 else " away.",
    }
    for i, (name, place, mood) in enumerate(
        [
            ("Tom", "park", "happy"), ("Lily", "shop", "sad"), ("Ben and Sara", "big lake", "cold"),
            ("a cat", "tree", "proud"), ("Max", "hill", "tired"), ("Mia", "house", "glad"),
            ("the dog", "garden", "loud"), ("Tim", "school", "shy"), ("Anna", "sea", "wet"),
            ("a bird", "nest", "small"), ("Sam", "farm", "red"), ("Lucy", "zoo", "kind"),
        ]
    )
]
METRICS = [
    "loss", "grad_norm", "learning_rate", "entropy", "num_tokens", "rewards/chosen",
    "rewards/rejected", "rewards/accuracies", "rewards/margins", "logps/chosen", "logps/rejected",
]
CASES = {
    "sigmoid": {},
    "ipo": {"loss_type": "ipo", "beta": 0.5},
    "hinge": {"loss_type": "hinge", "beta": 0.02},
    "robust": {"loss_type": "robust", "label_smoothing": 0.2},
    "adapter": {"loss_type": "sigmoid", "beta": 0.2},
}


class InOrder(DPOTrainer):
    def _get_train_sampler(self, dataset=None):
        return SequentialSampler(self.train_dataset)


def run(name, changes):
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    model = AutoModelForCausalLM.from_pretrained(MODEL, dtype=torch.float64)
    peft = None
    if name == "adapter":
        # TRL keeps a copy of an adapter that is trained already as the reference.
        model = PeftModel.from_pretrained(model, ADAPTER, is_trainable=True)
    settings = {"loss_type": "sigmoid", "beta": 0.1, "label_smoothing": 0.0, **changes}
    with tempfile.TemporaryDirectory() as folder:
        args = DPOConfig(
            output_dir=folder, per_device_train_batch_size=2, gradient_accumulation_steps=2,
            max_steps=3, learning_rate=3e-4, lr_scheduler_type="constant", logging_steps=1,
            bf16=False, use_cpu=True, report_to=[], save_strategy="no", max_grad_norm=1.0,
            gradient_checkpointing=False, **settings,
        )
        before = copy.deepcopy({n: p.detach().clone() for n, p in model.named_parameters()})
        trainer = InOrder(
            model=model, args=args, train_dataset=Dataset.from_list(ROWS),
            processing_class=tokenizer, peft_config=peft,
        )
        rows = [
            {key: list(row[key]) for key in ("prompt_ids", "chosen_ids", "rejected_ids")}
            for row in trainer.train_dataset
        ]
        trainer.train()
        steps = [
            {key: line[key] for key in METRICS}
            for line in trainer.state.log_history if "loss" in line
        ]
        moved = {
            n: {
                "sum": (p.detach() - before[n]).sum().item(),
                "norm": (p.detach() - before[n]).norm().item(),
            }
            for n, p in trainer.model.named_parameters() if n in before and p.requires_grad
        }
    return rows, {"settings": settings, "steps": steps, "moved": moved}


if __name__ == "__main__":
    cases = {}
    for name, changes in CASES.items():
        ids, cases[name] = run(name, changes)
    with open("cases.json", "w") as file:
        json.dump({"rows": ROWS, "ids": ids, "cases": cases}, file, indent=1)
        file.write("\n")
