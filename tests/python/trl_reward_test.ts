/**
 * Opt-in: TRL's GRPOTrainer trains two steps with rewards of `rgx score --serve`, through
 * `examples/trl_reward.py`. RGX_TEST_TRL_PYTHON is a Python that has trl, torch and datasets.
 */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { createRubric } from "../../rewards/rubric.ts";
import { startScoreServer } from "../../cli/scoring/score.ts";
import { goldenPath } from "../golden.ts";
import { NEEDED, needs } from "../skipped.ts";
import { lines, root, runs, succeeds } from "../support.ts";

const python = Deno.env.get("RGX_TEST_TRL_PYTHON");

const SCRIPT = `
import json, sys
from datasets import load_dataset
from trl import GRPOConfig, GRPOTrainer
from trl_reward import rgx_reward

model, data, folder = sys.argv[1:]
args = GRPOConfig(
    output_dir=folder, max_steps=2, logging_steps=1, per_device_train_batch_size=4,
    num_generations=4, max_completion_length=12, use_cpu=True, report_to=[], save_strategy="no",
    seed=1, temperature=1.0, gradient_checkpointing=False, bf16=False)
dataset = load_dataset("json", data_files=data, split="train")
dataset = dataset.map(lambda row: {"prompt": row["prompt"][-1]["content"]})
trainer = GRPOTrainer(model=model, reward_funcs=rgx_reward, args=args, train_dataset=dataset)
trainer.train()
print(json.dumps([log["rewards/rgx_reward/mean"] for log in trainer.state.log_history
                  if "rewards/rgx_reward/mean" in log]))
`;

test.inFolder("TRL's GRPOTrainer trains with rewards that rgx serves", async (folder) => {
  const data = `${folder}/data.jsonl`;
  const export_ = ["tasks", "export", "chain_sum", "--format", "trl", "--splits", "train=8"];
  await succeeds([...export_, "--output", data]);
  const rubric = createRubric([
    { name: "brevity", weight: 1, params: {} },
    { name: "rg_tag_count", weight: 1, params: {} },
    { name: "repetition_penalty", weight: 1, params: {} },
  ]);
  const seen: number[] = [];
  const counted = {
    ...rubric,
    score: (samples: Parameters<typeof rubric.score>[0]) => {
      seen.push(samples.length);
      for (const { completionIds, info } of samples) {
        assert.ok(completionIds.length > 0);
        assert.equal(info["source_dataset"], "chain_sum");
      }
      return rubric.score(samples);
    },
  };
  const defects: unknown[] = [];
  const server = startScoreServer(counted, {
    hostname: "127.0.0.1",
    port: 0,
    maxCompletionLength: 12,
    onDefect: (error) => defects.push(error),
  });
  try {
    const model = goldenPath("models/tinystories-656k");
    const { out } = await runs([python!, "-c", SCRIPT, model, data, `${folder}/out`], {
      cwd: new URL("examples", root),
      env: { RGX_SCORE_URL: server.url, HF_HUB_OFFLINE: "1", CUDA_VISIBLE_DEVICES: "" },
    });
    const means: number[] = JSON.parse(lines(out).at(-1)!);
    assert.equal(means.length, 2);
    assert.ok(means.every(Number.isFinite), String(means));
    assert.deepEqual(seen, [4, 4]);
    assert.deepEqual(defects, []);
  } finally {
    await server.close();
  }
}, needs(python !== undefined, NEEDED.python));
