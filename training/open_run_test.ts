/** What of a configuration does not fit its model. */
import assert from "node:assert/strict";
import { UsageError } from "../core/errors.ts";
import { createDevice } from "../kernels/mod.ts";
import { goldenPath } from "../tests/golden.ts";
import { assemble } from "./assemble.ts";
import { tinyRunConfig } from "./testing.ts";

Deno.test("modules that the model lacks and too long completions are named together", async () => {
  using device = await createDevice("wasm", { threads: 1 });
  const config = tinyRunConfig("", {
    sft: null,
    model: { init: null, model_name_or_path: goldenPath("models/tinystories-656k") },
    lora: { target_modules: ["c_attn"] },
    training: { max_completion_length: 5000 },
  });
  const error = await assemble(config, device).then(() => null, (error) => error);
  assert.ok(error instanceof UsageError);
  assert.match(error.message, /^target_modules: "c_attn" is no linear module/);
  assert.match(error.message, /\ntraining\.max_completion_length: the longest prompt has/);
  assert.match(error.advice!, /^lora\.target_modules=\[q_proj.*\nSet training/);
});
