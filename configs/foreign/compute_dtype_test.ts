import assert from "node:assert/strict";
import { load } from "../testing.ts";

const MINIMAL =
  "model_name_or_path: m\ntask_name: chain_sum\nrewards: [correctness]\nrun_name: r\n";

Deno.test("bf16 of transformers and dtype of verl's actor are training.compute_dtype", async () => {
  const verl = "actor_rollout_ref.actor.fsdp_config.dtype";
  for (
    const [line, dtype] of [
      ["bf16: true", "bfloat16"],
      ["training: {bf16: false}", "float32"],
      ["training: {bf16: null}", "float32"],
      ["training: {compute_dtype: bf16}", "bfloat16"],
      [`${verl}: bfloat16`, "bfloat16"],
    ] as const
  ) {
    const { config, notes } = await load(`${MINIMAL}${line}\n`);
    assert.deepEqual([config.training.compute_dtype, notes], [dtype, []], line);
  }
  await assert.rejects(load(`${MINIMAL}fp16: true\n`), /fp16.*bf16: true/s);
  await assert.rejects(load(`${MINIMAL}bf16: 3\n`), /expected true or false/);
});
