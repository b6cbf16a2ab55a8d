/** What a turn of a dialogue samples does not depend on what is left of the turns before it. */
import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import { RgxError } from "../../core/errors.ts";
import { createWasmDevice } from "../../kernels/devices/wasm/device.ts";
import type { Device } from "../../kernels/device.ts";
import { assertWithin } from "../../kernels/testing.ts";
import { isEmulated, onEachDevice } from "../each_device_testing.ts";
import { randomModel, TINY_MODELS } from "../testing.ts";
import type { KvCacheDtype } from "../network/types.ts";
import type { AnswerSpan, Ask, Completion, GenerationTiming } from "./types.ts";

const SAMPLING = { maxNewTokens: 9, temperature: 0.9, seed: 5, eosIds: [2] };
const room = { prompts: [70, 71, 71], tokens: 60, turnTokens: 9 };
const TURNS = 4;

/**
 * Dialogues on two prompts; those on the second begin with one request. Replies of three tokens
 * come after so many turns of the event loop.
 */
async function play(ask: Ask, delay = (_dialogue: number) => 0): Promise<Completion[]> {
  const goOn = async (
    promptId: number,
    prompt: number[],
    firstBranch: number,
    first: Completion,
  ) => {
    const said = [first], answers: AnswerSpan[] = [];
    for (let promptIds = prompt; said.length < TURNS;) {
      const { ids } = said.at(-1)!, begin = promptIds.length;
      answers.push({ begin, end: begin + ids.length });
      promptIds = [...promptIds, ...ids, 4, 5 + said.length, 6 + firstBranch];
      for (let n = delay(promptId + firstBranch); n > 0; n--) {
        await new Promise((go) => setImmediate(go));
      }
      const firstPosition = promptIds.length - prompt.length, turn = [...answers];
      const request = { promptId, promptIds, n: 1, firstBranch, firstPosition, answers: turn };
      said.push((await ask(request))[0]!);
    }
    return said;
  };
  const groups = await Promise.all([1, 2].map(async (n, promptId) => {
    const promptIds = Array.from({ length: 69 + n }, (_, i) => (i * i + n) % 19);
    const begun: Promise<Completion[]>[] = [];
    const onBranch = (branch: number, answer: Completion) =>
      begun[branch] = goOn(promptId, promptIds, branch, answer);
    await ask({ promptId, promptIds, n, answers: [], onBranch });
    return (await Promise.all(begun)).flat();
  }));
  return groups.flat();
}

/** Tokens of the first prompts that are computed, and of each later turn what is new. */
const COMPUTED: Record<string, number> = {
  "a tied head": 70 + 71 + 3 * (TURNS - 1) * 4,
  "Qwen2's biases": 70 + 71 + 3 * (TURNS - 1) * 4,
  "Qwen3.5's delta rules": 70 + 71 + 3 * (TURNS - 1) * 4,
};

/** All answers: of whole dialogues, with little room, and with nothing left of earlier turns. */
async function played(
  device: Device,
  part: string,
  kvCacheDtype: KvCacheDtype = "float32",
  few = isEmulated(device),
): Promise<[what: string, Completion[]][]> {
  const options = { ...SAMPLING, kvCacheDtype };
  const [, tiny] = TINY_MODELS.find(([what]) => what === part)!;
  const model = await randomModel(device, { ...tiny, maxPositions: 256 }, { trainable: "none" });
  const found: [what: string, Completion[]][] = [];
  let computed = 0;
  const onTiming = (timing: GenerationTiming) =>
    computed = timing.promptTokens - timing.sharedTokens;
  found.push(["kept", await model.generateDialogues(room, { ...options, onTiming }, play)]);
  if (device.adapter === undefined && part in COMPUTED) assert.equal(computed, COMPUTED[part]);
  for (const branches of few ? [2] : [2, 5]) {
    const sizes = { branches, promptRows: 256, maxNewTokens: 9, kvCacheDtype };
    let last: Promise<unknown> = Promise.resolve();
    const inTurn: Ask = (request) => {
      const answer = last.then(async () => {
        const generation = model.openGeneration(sizes, options);
        const [found] = await Promise.all([generation.add(request), generation.idle()]);
        return found;
      });
      last = answer;
      return answer;
    };
    found.push([`lost, ${branches} rows at once`, await play(inTurn)]);
  }
  const limits = [{ bytes: 1 }, { slots: 2 }, { stepsPerRead: 3, prefillRows: 4 }];
  const delays = [
    () => 0,
    (dialogue: number) => 9 - 4 * dialogue,
    (dialogue: number) => 5 * dialogue,
  ];
  for (const [i, limit] of limits.slice(0, few ? 1 : 3).entries()) {
    const answers = await model.generateDialogues(
      room,
      options,
      (ask) => play(ask, delays[i]),
      limit,
    );
    found.push([JSON.stringify(limit), answers]);
  }
  const failed = model.generateDialogues(room, options, () => Promise.reject(new RgxError("play")));
  await assert.rejects(failed, /play/);
  model.dispose();
  return found;
}

const ROUNDED = ["a tied head", "Qwen3.5's delta rules"];
const TURNS_OF = [
  ...TINY_MODELS.map(([part]) => [part, "float32"] as const),
  ...ROUNDED.map((part) => [part, "bfloat16"] as const),
];

for (const [part, dtype] of TURNS_OF) {
  const what = `with ${part}, ${dtype}`;
  Deno.test(`turns have the same bits whatever the cache still has, ${what}`, async () => {
    const all: (readonly [what: string, Completion[]])[] = [];
    for (const threads of [1, 2]) {
      const device = await createWasmDevice({ threads });
      try {
        const found = await played(device, part, dtype, threads === 1);
        all.push(...found.map(([what, bits]) => [`${what}, ${threads} threads`, bits] as const));
      } finally {
        device.close();
      }
    }
    for (const [what, bits] of all) assert.deepEqual(bits, all[0]![1], what);
  });
}

Deno.test("a card samples the same turns whatever others do", () =>
  onEachDevice(async (device) => {
    if (device.adapter === undefined) return;
    const all = await played(device, TINY_MODELS[0]![0]), kept = all[0]![1];
    const logprobs = (found: Completion[]) => found.flatMap(({ logprobs }) => logprobs);
    for (const [what, found] of all.slice(1)) {
      assert.deepEqual(found.map(({ ids }) => ids), kept.map(({ ids }) => ids), what);
      assertWithin(logprobs(found), logprobs(kept), 1e-5, what);
    }
  }));

Deno.test("others have their turns while an answer is decoded again, until it is aborted", async () => {
  using device = await createWasmDevice({ threads: 1 });
  const model = await randomModel(device, TINY_MODELS[0]![1], { trainable: "none" });
  const promptIds = Array.from({ length: 24 }, (_, i) => i % 19);
  const control = new AbortController(), left = new RgxError("it has left");
  let turns = 0;
  const turn = () => Promise.resolve(++turns === 3 && control.abort(left)).then(() => {});
  const sizes = { branches: 2, promptRows: 32, maxNewTokens: 3 };
  const generation = model.openGeneration(sizes, SAMPLING, { turnMs: 0, turn });
  const answers = [{ begin: 1, end: promptIds.length }], sampling = { maxNewTokens: 3 };
  const ask = { promptId: 0, promptIds, n: 2, sampling, answers };
  await assert.rejects(generation.add({ ...ask, signal: control.signal }), left);
  await generation.idle();
  assert.ok(turns < 6, `${turns} turns`);
  const found = await generation.add(ask);
  await generation.idle();
  assert.ok(turns >= promptIds.length / sizes.branches, `${turns} turns`);
  const alone = model.openGeneration(sizes, SAMPLING);
  assert.deepEqual(await alone.add(ask), found);
  await alone.idle();
  model.dispose();
});
