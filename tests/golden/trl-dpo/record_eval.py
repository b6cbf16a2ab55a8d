"""Records eval.json: TRL's evaluation of preferences, in float64.

    python record_eval.py       (TRL 1.16, transformers 5.23, PEFT 0.21, torch on a CPU)

The policy is models/tinystories-656k with the adapter of trl-step, the reference the same without
it, and the rows are those of record.py, in one batch.
"""

import json
import tempfile

import torch
from datasets import Dataset
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import DPOConfig, DPOTrainer

from record import ADAPTER, MODEL, ROWS


def load():
    return AutoModelForCausalLM.from_pretrained(MODEL, dtype=torch.float64)


if __name__ == "__main__":
    cases = []
    for max_length in (None, 16):
        with tempfile.TemporaryDirectory() as folder:
            args = DPOConfig(
                output_dir=folder, per_device_eval_batch_size=12, max_length=max_length, bf16=False,
                use_cpu=True, report_to=[], beta=0.1,
            )
            trainer = DPOTrainer(
                model=PeftModel.from_pretrained(load(), ADAPTER).merge_and_unload(),
                ref_model=load(), args=args, train_dataset=Dataset.from_list(ROWS),
                eval_dataset=Dataset.from_list(ROWS),
                processing_class=AutoTokenizer.from_pretrained(MODEL),
            )
            found = trainer.evaluate()
        lengths = [
            [len(row[key]) for key in ("prompt_ids", "chosen_ids", "rejected_ids")]
            for row in trainer.eval_dataset
        ]
        skipped = ("eval_runtime", "eval_samples_per_second", "eval_steps_per_second")
        cases.append({
            "max_length": max_length, "lengths": lengths,
            "metrics": {name: value for name, value in found.items() if name not in skipped},
        })
    with open("eval.json", "w") as file:
        json.dump(cases, file, indent=1)
        file.write("\n")
