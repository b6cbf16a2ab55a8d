/**
 * What batches are worth, and what the harness costs: the same problems one at a time and together, with
 * tinystories-656k on the CPU. `deno task bench:eval [threads]`; the machine should have nothing else to do.
 */
import { createWasmDevice } from "../kernels/wasm/device.ts";
import { sharedFolder } from "../models/testing.ts";
import { LocalModel } from "./local_model.ts";
import { DEFAULT_PROMPT } from "./prompt.ts";
import { createTestSet } from "./test_set.ts";

const ROUNDS = 5;

const path = sharedFolder("models/tinystories-656k");
if (path !== null) {
  const device = await createWasmDevice({ threads: Number(Deno.args[0] ?? 2) });
  const settings = {
    prompt: { ...DEFAULT_PROMPT, format: "plain" as const },
    sampling: {
      ...{ temperature: 0, top_p: 1, top_k: 0, min_p: 0, repetition_penalty: 1 },
      ...{ max_new_tokens: 256, samples: 1 },
    },
    seed: 1,
    keepPromptTokens: null,
  };
  const where = { kind: "local" as const, path };
  const model = await LocalModel.open({ name: path, where, settings }, device);
  const questions = ["chain_sum", "spell_backward", "leg_counting", "basic_arithmetic"]
    .map((name) => createTestSet({ name }, { seed: 3, size: 25, fewShot: 0 }))
    .flatMap((set) => set.entries.map((_, index) => ({ set, index, samples: [0] })));
  let single = Infinity, together = Infinity, harness = Infinity;
  for (let round = 0; round <= ROUNDS; round++) {
    let start = performance.now();
    for (const question of questions) await model.answer([question], () => {}, () => false);
    const one = performance.now() - start;
    start = performance.now();
    model.modelSeconds = 0;
    await model.answer(questions, () => {}, () => false);
    const all = performance.now() - start;
    if (round === 0) continue; // compilers warm up
    single = Math.min(single, one);
    together = Math.min(together, all);
    harness = Math.min(harness, 1 - model.modelSeconds * 1000 / all);
  }
  const each = (ms: number) => `${(ms / questions.length).toFixed(2)} ms a problem`;
  console.log(`one at a time: ${each(single)}\ntogether: ${each(together)}`);
  console.log(`ratio ${(single / together).toFixed(2)}, harness ${(100 * harness).toFixed(2)} %`);
  model.close();
  device.close();
}
