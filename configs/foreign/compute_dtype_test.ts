import assert from "node:assert/strict";
import { load } from "../testing.ts";

const MINIMAL =
  "model_name_or_path: m\ntask_name: chain_sum\nrewards: [correctness]\nrun_name: r\n";

Deno.test("bf16 and fp16 of transformers and dtype of verl's actor are training.compute_dtype", async () => {
  const verl = "actor_rollout_ref.actor.fsdp_config.dtype";
  for (
    const [line, dtype] of [
      ["bf16: true", "bfloat16"],
      ["training: {bf16: false}", "float32"],
      ["training: {bf16: null}", "float32"],
      ["training: {compute_dtype: bf16}", "bfloat16"],
      ["fp16: true", "float16"],
      ["training: {fp16: true, bf16: false}", "float16"],
      ["bf16: true\nfp16: false", "bfloat16"],
      ["compute_dtype: fp16", "float16"],
      [`${verl}: bfloat16`, "bfloat16"],
    ] as const
  ) {
    const { config, notes } = await load(`${MINIMAL}${line}\n`);
    assert.deepEqual([config.training.compute_dtype, notes], [dtype, []], line);
  }
  const both = `${MINIMAL}fp16: true\nbf16: true\n`;
  await assert.rejects(load(both), /fp16: bf16 is true, too: give one of them/);
  await assert.rejects(load(`${MINIMAL}bf16: 3\n`), /expected true or false/);
});
