"""A whole run of TRL's GRPOTrainer, for `deno task compare:learning`.

The argument is the path of a JSON file: the folder of a model, the prompts in the order of the
steps with their expected answers, the seed, the number of threads, the arguments of GRPOConfig, and
the rank, alpha and targets of a LoRA adapter (null: all weights are trained).
Prints a line of JSON for each step: the mean reward and the mean length of the completions. The
last line has the seconds of the whole training and its processor seconds. Everything is computed
in float32.

The reward is 1 if the last answer tag holds the expected text, in any case, or number, else 0.
`checked` are completions of rgx with their rewards; the run ends if one would get another reward
here.
"""
import json
import os
import re
import sys
import tempfile
import time

job = json.load(open(sys.argv[1]))
for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = str(job["threads"])
os.environ["HF_HUB_OFFLINE"] = "1"
out, sys.stdout = sys.stdout, sys.stderr  # TRL prints its logs

import torch
import trl
from datasets import Dataset
from transformers import TrainerCallback

torch.set_num_threads(job["threads"])


def number(text):
    try:
        return float(text)
    except ValueError:
        return None


def correctness(completion, expected):
    answers = re.findall(r"<answer>(.*?)</answer>", completion, re.DOTALL)
    if not answers:
        return 0.0
    answer = answers[-1].strip()
    value = number(answer)
    return 1.0 if answer.lower() == expected.lower() or (value is not None and value == number(expected)) else 0.0


for row in job["checked"]:
    if correctness(row["completion"], row["expected"]) != row["correctness"]:
        sys.exit(f"rgx gives another reward than this program: {row}")


def reward(completions, expected, **_):
    return [correctness(text, answer) for text, answer in zip(completions, expected)]


def adapter(lora):
    if lora is None:
        return None
    from peft import LoraConfig

    return LoraConfig(
        r=lora["r"],
        lora_alpha=lora["lora_alpha"],
        lora_dropout=lora["lora_dropout"],
        target_modules=lora["target_modules"],
        task_type="CAUSAL_LM",
    )


def say(**values):
    print(json.dumps(values), file=out, flush=True)


class EachStep(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **_):
        if logs and "reward" in logs:
            say(reward=logs["reward"], length=logs["completions/mean_length"])


with tempfile.TemporaryDirectory() as folder:
    trainer = trl.GRPOTrainer(
        model=job["model"],
        reward_funcs=reward,
        train_dataset=Dataset.from_list(job["prompts"]),
        callbacks=[EachStep()],
        peft_config=adapter(job["lora"]),
        args=trl.GRPOConfig(
            output_dir=folder,
            use_cpu=True,
            bf16=False,
            model_init_kwargs={"dtype": "float32"},
            seed=job["seed"],
            shuffle_dataset=False,
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
            logging_steps=1,
            **job["arguments"],
        ),
    )
    wall, cpu = time.perf_counter(), time.process_time()
    trainer.train()
    say(
        seconds=time.perf_counter() - wall,
        cpuSeconds=time.process_time() - cpu,
        version=f"TRL {trl.__version__}, torch {torch.__version__.split('+')[0]}",
    )
