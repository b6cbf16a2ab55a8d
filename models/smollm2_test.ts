/**
 * A real model: SmolLM2-135M-Instruct as a Q4_1 GGUF file, compared with transformers in float32 on
 * the same weights (tests/golden/smollm2). `RGX_TEST_MODEL` can name another copy of the file; when
 * it is empty, these tests are left out.
 */
import assert from "node:assert/strict";
import { createWasmDevice } from "../kernels/devices/wasm/device.ts";
import { type LoadedModel, loadModel } from "./load_model.ts";
import { largest, logSumExp } from "./logits.ts";
import { parameterBytes } from "./network/counted_network.ts";
import { goldenPath } from "../tests/golden.ts";
import { NEEDED, needs } from "../tests/skipped.ts";
import { largeModel } from "../tests/large_model.ts";

const golden = goldenPath("smollm2");
const path = largeModel();

interface Case {
  messages: { role: string; content: string }[];
  prompt_text: string;
  prompt_ids: number[];
  transformers_fp32: {
    ids: number[];
    text: string;
    top5_last_prompt_position: { id: number; logit: number; logprob: number }[];
    logprobs_of_ids: number[];
    logsumexp_last_prompt_position: number;
    gap_best_second: number[];
  };
}

/** Where the two best logits of the reference differ by less, either may be the greedy token. */
const SMALL_GAP = 0.05;

Deno.test({
  name: "SmolLM2-135M-Instruct: tokenizer, logits and greedy continuations are transformers'",
  ignore: needs(path !== null, NEEDED.largeModel),
  async fn() {
    const { cases } = JSON.parse(await Deno.readTextFile(`${golden}/greedy.json`)) as {
      cases: Case[];
    };
    using device = await createWasmDevice({ threads: Math.min(8, navigator.hardwareConcurrency) });
    const loaded = await loadModel(path!, device);
    assert.deepEqual(loaded.eosIds, [2]);
    checkMemory(loaded, device.allocatedBytes);
    for (const item of cases) {
      checkTokenizer(loaded, item);
      await checkLogits(loaded, item);
    }
    await checkGreedy(loaded, cases);
    loaded.model.dispose();
  },
});

/** The weights take as many bytes on the device as in the file. */
function checkMemory({ model }: LoadedModel, bytes: number): void {
  const types = new Set(model.parameters.map(({ storage }) => storage));
  if (Deno.env.get("RGX_TEST_MODEL") === undefined) {
    assert.deepEqual(types, new Set([null, "q4_1", "q8_0"]));
  }
  const { values } = parameterBytes(model.sizes);
  assert.equal(bytes, values);
  const { size } = Deno.statSync(path!);
  assert.ok(values < 1.1 * size, `${values} bytes on the device, ${size} in the file`);
}

function checkTokenizer({ tokenizer }: LoadedModel, item: Case): void {
  const rendered = tokenizer.applyChatTemplate(item.messages);
  assert.equal(rendered, item.prompt_text);
  assert.deepEqual(tokenizer.encode(rendered), item.prompt_ids);
  assert.equal(tokenizer.decode(item.prompt_ids), item.prompt_text);
  const { ids, text } = item.transformers_fp32, end = ids.indexOf(2);
  assert.equal(tokenizer.decode(end < 0 ? ids : ids.slice(0, end)), text);
}

/**
 * One pass over prompt and continuation: the top 5 after the prompt, the log-probability of every
 * token, and the most likely token of every step where the reference is not close to a tie.
 */
async function checkLogits({ model }: LoadedModel, item: Case): Promise<void> {
  const { prompt_ids: prompt, transformers_fp32: reference } = item;
  await model.positionLogits(
    [...prompt, ...reference.ids],
    (position, logits) => {
      const step = position - prompt.length + 1;
      const next = reference.ids[step];
      const logsumexp = logSumExp(logits);
      const near = (found: number, wanted: number, limit: number, what: string) =>
        assert.ok(Math.abs(found - wanted) <= limit, `${what}: ${found}, expected ${wanted}`);
      if (next !== undefined) {
        if (reference.gap_best_second[step]! > SMALL_GAP) {
          assert.equal(largest(logits, 1)[0], next, `the likeliest token at step ${step}`);
        }
        const wanted = reference.logprobs_of_ids[step]!;
        near(logits[next]! - logsumexp, wanted, 2e-3, `log p of token ${step}`);
      }
      if (step > 0) return;
      near(logsumexp, reference.logsumexp_last_prompt_position, 1e-3, "logsumexp");
      for (const { id, logit, logprob } of reference.top5_last_prompt_position) {
        near(logits[id]!, logit, 1e-3, `logit of ${id}`);
        near(logits[id]! - logsumexp, logprob, 2e-3, `log p of ${id}`);
      }
    },
    { from: prompt.length - 1 },
  );
}

async function checkGreedy({ model }: LoadedModel, cases: readonly Case[]): Promise<void> {
  const groups = await model.generate(
    cases.map(({ prompt_ids: promptIds }, promptId) => ({ promptId, promptIds, n: 1 })),
    { maxNewTokens: 32, temperature: 0, seed: 1, eosIds: [] },
  );
  groups.forEach(([completion], i) => {
    const { ids, gap_best_second: gaps } = cases[i]!.transformers_fp32;
    const certain = gaps.findIndex((gap) => gap < SMALL_GAP);
    const count = certain < 0 ? ids.length : certain;
    assert.equal(completion!.ids.length, 32);
    assert.deepEqual(completion!.ids.slice(0, count), ids.slice(0, count), `case ${i}`);
  });
}
