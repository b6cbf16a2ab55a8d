/** Models with other adapters in one generation, other passes between its steps, kept prompts. */
import assert from "node:assert/strict";
import { RgxError } from "../../core/errors.ts";
import { createWasmDevice } from "../../kernels/devices/wasm/device.ts";
import { isEmulated, onEachDevice } from "../each_device_testing.ts";
import { logprobs } from "../inspect/logprobs.ts";
import { randomModel, sampledLogprobs, tinyConfig } from "../testing.ts";
import type { Device } from "../../kernels/device.ts";
import { assertWithin } from "../../kernels/testing.ts";
import type { CausalLM } from "../causal_lm.ts";
import type { Completion, GenerateOptions, GenerateRequest, GenerationTiming } from "./types.ts";

const options: GenerateOptions = { maxNewTokens: 14, temperature: 0.9, seed: 77, eosIds: [3, 8] };
/** The branch cache has room for three of the six branches when they are long. */
const room = {
  branches: 6,
  promptRows: 192,
  branchRows: 45,
  maxNewTokens: 14,
  adjusted: true,
};

/** A model and two others with adapters of other sizes on the same base. */
async function threeModels(base: CausalLM): Promise<CausalLM[]> {
  const models = [base];
  for (
    const [r, targetModules] of [[2, ["q_proj", "up_proj", "lm_head"]], [5, "all-linear"]] as const
  ) {
    const model = await base.withAdapter({ r, alpha: 8, targetModules });
    for (const { name } of model.parameters) {
      if (!/lora_B/.test(name)) continue;
      const data = await model.readParameter(name);
      model.writeParameter(name, data.map((_, i) => Math.sin(i * 1.3 + r)));
    }
    models.push(model);
  }
  return models;
}

/** On a GPU the order of sums depends on the number of rows. */
function assertSame(device: Device, found: Completion[][], expected: Completion[][]): void {
  if (device.adapter === undefined) return assert.deepEqual(found, expected);
  const ids = (groups: Completion[][]) => groups.flat().map(({ ids }) => ids);
  assert.deepEqual(ids(found), ids(expected));
  assertWithin(sampledLogprobs(found), sampledLogprobs(expected), 1e-5, "log-probabilities");
}

const prompt = (length: number, salt: number) =>
  Array.from({ length }, (_, i) => (i * i + salt) % 19);

Deno.test("models with other adapters share a generation, each with its own bits", () =>
  onEachDevice(async (device) => {
    const base = await randomModel(device, tinyConfig(true), { trainable: "none" });
    const models = await threeModels(base);
    const requests = Array.from(
      { length: isEmulated(device) ? 6 : 18 },
      (_, r): GenerateRequest => ({
        promptId: r,
        promptIds: prompt(1 + r % 7, r % 4),
        n: 1 + r % 3,
        sampling: r % 5 === 0 ? { repetitionPenalty: 1.4 } : { maxNewTokens: 1 + r % 14 },
      }),
    );
    const alone: Completion[][] = [];
    for (const [r, request] of requests.entries()) {
      alone.push(...await models[r % 3]!.generate([request], options));
    }
    const generation = base.openGeneration(room, options, { prefillRows: 20, keptPrompts: 50 });
    const joined = models.slice(1).map((model) => model.joinGeneration(generation, {}));
    const add = (r: number) => {
      const model = joined[r % 3 - 1];
      return generation.add({ ...requests[r]!, ...(model === undefined ? {} : { model }) });
    };
    const found = await Promise.all(requests.map((_, r) => add(r)));
    assertSame(device, found, alone);
    const last = add(1);
    assert.throws(() => joined[0]!.leave(), RgxError);
    await last;
    joined[0]!.leave();
    assert.throws(() => add(1), /has left/);
    assertSame(device, [await add(2)], [alone[2]!]);
    await generation.idle();
    joined[1]!.leave();
    for (const model of models) model.dispose();
  }));

Deno.test("a joined model shares the weights that it does not change", async () => {
  for (const dtype of ["float32", "bfloat16"] as const) {
    const device = await createWasmDevice({ threads: 2 });
    device.computeDtype = dtype;
    const config = { ...tinyConfig(true), hiddenSize: 64, intermediateSize: 192, numLayers: 3 };
    const base = await randomModel(device, config, { trainable: "none" });
    const models = await threeModels(base);
    const request = { promptId: 3, promptIds: prompt(6, 1), n: 2 };
    const greedy = { ...options, temperature: 0 };
    const alone: Completion[][] = [];
    for (const model of models) alone.push(...await model.generate([request], greedy));
    const generation = base.openGeneration(room, greedy);
    await generation.add(request);
    const weights = 4 * config.numLayers * 64 * 192 * 3;
    for (const separate of [false, true]) {
      const before = device.allocatedBytes;
      const joined = models.slice(1).map((model) => model.joinGeneration(generation, { separate }));
      const add = (m: number) =>
        generation.add({ ...request, ...(m === 0 ? {} : { model: joined[m - 1]! }) });
      const one = await add(1), all = await Promise.all([0, 1, 2, 1].map(add));
      // The same bits, whatever else is generated.
      assert.deepEqual([all[1], all[3]], [one, one]);
      if (!separate || dtype === "bfloat16") assert.deepEqual(all.slice(0, 3), alone);
      else {
        assert.deepEqual(
          all.slice(0, 3).flat().map(({ ids }) => ids),
          alone.flat().map(({ ids }) => ids),
        );
        const found = sampledLogprobs(all.slice(0, 3));
        assertWithin(found, sampledLogprobs(alone), 1e-4, "log-probabilities");
      }
      const added = device.allocatedBytes - before;
      if (separate || dtype === "bfloat16") assert.ok(added < weights / 4, `${dtype} ${added}`);
      else assert.ok(added > weights, `${added} bytes`);
      await generation.idle();
      for (const model of joined) model.leave();
    }
    for (const model of models) model.dispose();
    device.close();
  }
});

Deno.test("other passes run between the steps of a generation and change nothing", () =>
  onEachDevice(async (device) => {
    const model = await randomModel(device, tinyConfig(false), { trainable: "none" });
    const requests = [0, 1, 2, 3].map((promptId) => ({
      promptId,
      promptIds: prompt(3 + promptId, 1),
      n: 2,
    }));
    const expected = await model.generate(requests, options);
    const scored = await logprobs(model, prompt(20, 2), 3);
    const generation = model.openGeneration(room, options);
    const passes: unknown[] = [];
    const found = await Promise.all(requests.map((request) =>
      generation.add({
        ...request,
        onToken: (branch, _token, _logprob) => {
          if (branch > 0 || passes.length > 12) return;
          passes.push(null);
          const at = passes.length - 1;
          generation.pass(async () => {
            passes[at] = await logprobs(model, prompt(20, 2), 3);
          });
        },
      })
    ));
    await generation.idle();
    assertSame(device, found, expected);
    assert.ok(passes.length > 4);
    for (const pass of passes) assert.deepEqual(pass, scored);
    await assert.rejects(generation.pass(() => Promise.reject(new Error("it failed"))), /failed/);
    assertSame(device, [await generation.add(requests[1]!)], [expected[1]!]);
    await generation.idle();
    model.dispose();
  }));

Deno.test("a prompt whose beginning is in the cache computes only the rest, with the same bits", () =>
  onEachDevice(async (device) => {
    const config = { ...tinyConfig(true), maxPositions: 256 };
    const model = await randomModel(device, config, { trainable: "none" });
    const system = prompt(70, 3);
    const prompts = [
      [...system, 1, 2],
      prompt(40, 9),
      [...system, 4, 5, 6, 7],
      [...system, 1, 2, 11, 12, 13],
      [...system, 1, 2],
      prompt(150, 11),
      [...system.slice(0, 33), 2, 2],
      prompt(41, 9),
    ];
    const requests = prompts.map((promptIds, promptId) => ({ promptId, promptIds, n: 1 }));
    const fresh: Completion[][] = [];
    for (const request of requests) fresh.push(...await model.generate([request], options));
    // Together, too, in one batch or in several.
    const shared: number[] = [];
    for (const limits of [{}, { prefillRows: 40 }, { slots: 3, prefillRows: 200 }]) {
      const onTiming = ({ sharedTokens }: GenerationTiming) => shared.push(sharedTokens);
      const found = await model.generate(requests, { ...options, onTiming }, limits);
      assertSame(device, found, fresh);
    }
    if (device.adapter === undefined) assert.deepEqual(shared, [141, 141, 141]);
    for (const [keptPrompts, promptRows] of [[2, 1024], [100, 256], [100, 1024]] as const) {
      if (isEmulated(device) && promptRows !== 256) continue;
      const generation = model.openGeneration({ ...room, promptRows }, options, { keptPrompts });
      const found: Completion[][] = [];
      for (const request of requests) {
        found.push(await generation.add(request));
        // Kept prompts stay while there is nothing to do.
        await generation.idle();
      }
      assertSame(device, found, fresh);
      const { promptTokens, sharedTokens } = generation.timing;
      assert.equal(promptTokens, prompts.flat().length);
      if (device.adapter === undefined && keptPrompts === 100 && promptRows === 1024) {
        assert.equal(sharedTokens, 70 + 72 + 71 + 33 + 40);
      }
      const again = await Promise.all(requests.map((request) => generation.add(request)));
      assertSame(device, again, fresh);
      await generation.idle();
    }
    model.dispose();
  }));

Deno.test("the host sees the logits of each token before they are changed", () =>
  onEachDevice(async (device) => {
    const model = await randomModel(device, tinyConfig(true), { trainable: "none" });
    const request: GenerateRequest = {
      promptId: 4,
      promptIds: prompt(5, 2),
      n: 2,
      sampling: { repetitionPenalty: 1.5, topK: 3 },
    };
    const plain: GenerateRequest = { promptId: 1, promptIds: prompt(4, 2), n: 2 };
    const limits = { stepsPerRead: 4 };
    const expected = await model.generate([request, plain], options, limits);
    const seen: [branch: number, logits: number[]][] = [];
    const onLogits = (branch: number, logits: ArrayLike<number>) =>
      seen.push([branch, Array.from(logits)]);
    const found = await model.generate([{ ...request, onLogits }, plain], options, limits);
    assert.deepEqual(
      found.map((g) => g.map((c) => c.ids)),
      expected.map((g) => g.map((c) => c.ids)),
    );
    for (const [branch, { ids }] of found[0]!.entries()) {
      const own = seen.filter(([b]) => b === branch);
      assert.equal(own.length, ids.length);
      for (const [t, [, logits]] of own.entries()) {
        const exact = await model.lastLogits([...request.promptIds, ...ids.slice(0, t)]);
        exact.forEach((x, i) => assert.ok(Math.abs(x - logits[i]!) < 1e-4, `${x} ${logits[i]}`));
      }
    }
    model.dispose();
  }));
