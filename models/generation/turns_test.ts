/** What a turn of a dialogue samples does not depend on what is left of the turns before it. */
import assert from "node:assert/strict";
import { createWasmDevice } from "../../kernels/devices/wasm/device.ts";
import type { Device } from "../../kernels/device.ts";
import type { CausalLM } from "../causal_lm.ts";
import { randomModel, TINY_MODELS } from "../testing.ts";
import type { AnswerSpan, Ask, Completion, GenerationTiming } from "./types.ts";

const options = { maxNewTokens: 9, temperature: 0.9, seed: 5, eosIds: [2] };

/** Dialogues of four turns, two of which begin with the same prompt, that wait for each other. */
async function play(ask: Ask): Promise<Completion[]> {
  const dialogues = await Promise.all([0, 1, 1].map(async (salt, branch) => {
    let promptIds = Array.from({ length: 70 + salt }, (_, i) => (i * i + salt) % 19);
    const said: Completion[] = [], answers: AnswerSpan[] = [];
    for (let turn = 0; turn < 4; turn++) {
      const firstPosition = promptIds.length - 70 - salt;
      const request = {
        promptId: salt,
        promptIds,
        n: 1,
        firstBranch: branch,
        firstPosition,
        answers,
      };
      const [answer] = await ask({ ...request, answers: [...answers] }) as [Completion];
      said.push(answer);
      const end = promptIds.length + answer.ids.length;
      answers.push({ begin: promptIds.length, end });
      promptIds = [...promptIds, ...answer.ids, 4, 5 + turn, 6 + branch];
    }
    return said;
  }));
  return dialogues.flat();
}

async function withModel<T>(
  part: string,
  threads: number,
  work: (model: CausalLM, device: Device) => Promise<T>,
): Promise<T> {
  const [, config] = TINY_MODELS.find(([what]) => what === part)!;
  const device = await createWasmDevice({ threads });
  try {
    return await work(
      await randomModel(device, { ...config, maxPositions: 256 }, {
        trainable: "none",
      }),
      device,
    );
  } finally {
    device.close();
  }
}

/** Tokens of the first prompts that are computed: the last of the equal ones shares the other. */
const COMPUTED: Record<string, number> = {
  "a tied head": 70 + 71 + 1,
  "Qwen2's biases": 70 + 71 + 1,
  "Qwen3.5's delta rules": 70 + 71 + 71,
};

const room = { prompts: [70, 71, 71], tokens: 60, turnTokens: 9 };

for (const [part] of TINY_MODELS) {
  Deno.test(`turns have the same bits whatever the cache still has, with ${part}`, async () => {
    const found: [what: string, Completion[]][] = [];
    await withModel(part, 1, async (model) => {
      let computed = 0;
      const onTiming = (timing: GenerationTiming) =>
        computed = timing.promptTokens - timing.sharedTokens;
      found.push(["kept", await model.generateDialogues(room, { ...options, onTiming }, play)]);
      // Of a later turn the last token of the answer and three more.
      const wanted = COMPUTED[part];
      if (wanted !== undefined) assert.equal(computed, wanted + 3 * 3 * 4);
      // Room for one dialogue: the others take each other's rows.
      found.push(["small", await model.generateDialogues(room, options, play, { bytes: 1 })]);
      // Nothing is left of the turn before.
      const sizes = { branches: 1, promptRows: 256, maxNewTokens: 9, branchRows: 16 };
      for (const branches of [1, 5]) {
        let last: Promise<unknown> = Promise.resolve();
        const inTurn: Ask = (request) => {
          const answer = last.then(async () => {
            const generation = model.openGeneration({ ...sizes, branches }, options);
            const [found] = await Promise.all([generation.add(request), generation.idle()]);
            return found;
          });
          last = answer;
          return answer;
        };
        found.push([`lost, ${branches} rows at once`, await play(inTurn)]);
      }
      const steps = { stepsPerRead: 3, prefillRows: 4 };
      found.push(["steps", await model.generateDialogues(room, options, play, steps)]);
    });
    await withModel(part, 2, async (model) => {
      found.push(["threads", await model.generateDialogues(room, options, play)]);
    });
    for (const [what, bits] of found.slice(1)) assert.deepEqual(bits, found[0]![1], what);
  });
}
