"""GRPO steps of TRL's GRPOTrainer, for `deno task bench:peers`.

The argument is JSON: the folder of a model, the number of threads and the shape of the step.
Prints a line of JSON when it is ready. For every line on stdin it makes one step, and prints its
wall-clock seconds, its processor seconds, the seconds in `generate`, and the peak of the
process's resident memory. It ends when stdin ends. Steps use float32, or `bf16: true` (products in
bfloat16) where computeDtype is "bfloat16", LoRA on all linear layers, no gradient checkpointing,
and rewards of 1 and -1 in turns.
"""
import json
import os
import sys
import tempfile
import time

shape = json.loads(sys.argv[1])
for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = str(shape["threads"])
os.environ["HF_HUB_OFFLINE"] = "1"
out, sys.stdout = sys.stdout, sys.stderr  # TRL prints its logs

import torch
import trl
from datasets import Dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback

torch.set_num_threads(shape["threads"])
model = AutoModelForCausalLM.from_pretrained(shape["model"], dtype=torch.float32)
tokenizer = AutoTokenizer.from_pretrained(shape["model"])
# A token that begins every text is added again when the text is encoded.
prompts = [tokenizer.decode(ids, skip_special_tokens=True) for ids in shape["promptIds"]]
for prompt, ids in zip(prompts, shape["promptIds"]):
    if tokenizer(prompt)["input_ids"] != ids:
        sys.exit("a prompt is not made of the same tokens after it was decoded and encoded")


def answer(**values):
    print(json.dumps(values), file=out, flush=True)


def peak_bytes():
    with open("/proc/self/status") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith("VmHWM"))


class WaitForLine(TrainerCallback):
    """Before every step, waits for a line on stdin."""

    def on_step_begin(self, args, state, control, **_):
        if not sys.stdin.readline():
            os._exit(0)
        clock.update(generate=0.0, lengths=[], wall=time.perf_counter(), cpu=time.process_time())

    def on_step_end(self, args, state, control, **_):
        wall, cpu = time.perf_counter() - clock["wall"], time.process_time() - clock["cpu"]
        if set(clock["lengths"]) != {shape["newTokens"]}:
            sys.exit(f"completions have {clock['lengths']} tokens")
        answer(seconds=wall, cpuSeconds=cpu, generate=clock["generate"], peakBytes=peak_bytes())


clock = {}
generate = model.generate


def timed_generate(*args, **kwargs):
    start = time.perf_counter()
    found = generate(*args, **kwargs)
    clock["generate"] += time.perf_counter() - start
    return found


def reward(completion_ids, **_):
    clock["lengths"] = [len(ids) for ids in completion_ids]
    return [1.0 if i % 2 == 0 else -1.0 for i in range(len(completion_ids))]


model.generate = timed_generate
with tempfile.TemporaryDirectory() as folder:
    trainer = trl.GRPOTrainer(
        model=model,
        processing_class=tokenizer,
        reward_funcs=reward,
        train_dataset=Dataset.from_dict({"prompt": prompts}),
        peft_config=LoraConfig(r=shape["rank"], lora_alpha=32, target_modules="all-linear"),
        callbacks=[WaitForLine()],
        args=trl.GRPOConfig(
            output_dir=folder,
            use_cpu=True,
            bf16=shape["computeDtype"] == "bfloat16",
            gradient_checkpointing=False,
            per_device_train_batch_size=len(prompts) * shape["completions"],
            num_generations=shape["completions"],
            max_completion_length=shape["newTokens"],
            generation_kwargs={"min_new_tokens": shape["newTokens"]},
            max_steps=1000,
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
            logging_steps=1000,
        ),
    )
    answer(version=f"TRL {trl.__version__}, torch {torch.__version__.split('+')[0]}")
    trainer.train()
