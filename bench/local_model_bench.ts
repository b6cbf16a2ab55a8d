/**
 * What answering together is worth, and what the harness costs: the same problems one at a time and together,
 * with tinystories-656k on the CPU, for short answers, long ones and ones of very different lengths.
 * `deno task bench:eval [threads]`. The machine should have nothing else to do: of several rounds the fastest
 * counts, but two threads that wait for each other lose more to other work than one.
 */
import { createWasmDevice } from "../kernels/wasm/device.ts";
import { sharedFolder } from "../models/testing.ts";
import { LocalModel } from "./local_model.ts";
import { DEFAULT_PROMPT } from "./prompt.ts";
import type { Sampling } from "./result_file.ts";
import { createTestSet } from "./test_set.ts";
import type { Question } from "./types.ts";

const ROUNDS = 3, EACH = 25;

interface TaskSet {
  title: string;
  tasks: readonly string[];
  sampling: Partial<Sampling>;
}

const SETS: readonly TaskSet[] = [
  {
    title: "greedy, four tasks",
    tasks: ["chain_sum", "spell_backward", "leg_counting", "basic_arithmetic"],
    sampling: {},
  },
  {
    title: "sampled, the same",
    tasks: ["chain_sum", "spell_backward", "leg_counting", "basic_arithmetic"],
    sampling: { temperature: 1 },
  },
  {
    title: "long prompts",
    tasks: ["gsm_symbolic", "mini_sudoku", "shortest_path", "word_sorting"],
    sampling: { temperature: 1 },
  },
  {
    title: "exactly 128 tokens",
    tasks: ["chain_sum", "leg_counting"],
    sampling: { max_new_tokens: 128, min_new_tokens: 128 },
  },
];

const path = sharedFolder("models/tinystories-656k");
if (path !== null) {
  const device = await createWasmDevice({ threads: Number(Deno.args[0] ?? 2) });
  for (const set of SETS) await measure(path, device, set);
  device.close();
}

async function measure(
  path: string,
  device: Awaited<ReturnType<typeof createWasmDevice>>,
  { title, tasks, sampling }: TaskSet,
): Promise<void> {
  const settings = {
    prompt: { ...DEFAULT_PROMPT, format: "plain" as const },
    sampling: {
      ...{ temperature: 0, top_p: 1, top_k: 0, min_p: 0, repetition_penalty: 1 },
      ...{ max_new_tokens: 256, samples: 1 },
      ...sampling,
    },
    seed: 1,
    keepPromptTokens: null,
  };
  const where = { kind: "local" as const, path };
  const model = await LocalModel.open({ name: path, where, settings }, device);
  const questions = tasks.map((name) =>
    createTestSet({ name }, { seed: 3, size: EACH, fewShot: 0 })
  )
    .flatMap((set) => set.entries.map((_, index) => ({ set, index, samples: [0] })));
  const tokens = { prompt: 0, completion: 0 };
  const ask = (some: readonly Question[]) =>
    model.answer(some, (_question, _sample, { prompt_tokens, completion_tokens }) => {
      tokens.prompt += prompt_tokens;
      tokens.completion += completion_tokens;
    }, () => false);
  let single = Infinity, together = Infinity, harness = Infinity;
  for (let round = 0; round <= ROUNDS; round++) {
    let start = performance.now();
    for (const question of questions) await ask([question]);
    const one = performance.now() - start;
    start = performance.now();
    model.modelSeconds = tokens.prompt = tokens.completion = 0;
    await ask(questions);
    const all = performance.now() - start;
    if (round === 0) continue; // compilers warm up
    single = Math.min(single, one);
    together = Math.min(together, all);
    harness = Math.min(harness, 1 - model.modelSeconds * 1000 / all);
  }
  const n = questions.length, each = (amount: number) => (amount / n).toFixed(2);
  console.log(
    `${title}: ${(tokens.prompt / n).toFixed(0)} + ${(tokens.completion / n).toFixed(0)} tokens; ` +
      `${each(single)} ms alone, ${each(together)} ms together, ` +
      `ratio ${(single / together).toFixed(2)}, harness ${(100 * harness).toFixed(2)} %`,
  );
  model.close();
}
