/**
 * Measures how much faster questions are answered together than one at a time, and how much time
 * the harness takes, with tinystories-656k on the CPU. The harness is everything in a benchmark but
 * loading the model and the model's work: drawing problems, encoding prompts, decoding completions,
 * scoring, and writing files.
 *
 * `deno task bench:eval [threads]`. The machine should be idle: the fastest of several rounds
 * counts, but two threads that wait for each other lose more to other work than one thread.
 */
import { createWasmDevice, type WasmDevice } from "../../kernels/devices/wasm/device.ts";
import { goldenPath } from "../../tests/golden.ts";
import { benchmark } from "../benchmark.ts";
import { LocalModel } from "./local_model.ts";
import { DEFAULT_PROMPT_SETTINGS } from "../evaluation/prompt_settings.ts";
import type { Sampling } from "../results/result_file.ts";
import { createTestSet } from "../plan/test_set.ts";

/** Problems of each task, asked one at a time (EACH_ALONE) and in a benchmark (EACH). */
const EACH_ALONE = 25, EACH = 250;
const ROUNDS = 3, SEED = 3;

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

if (import.meta.main) {
  const path = goldenPath("models/tinystories-656k");
  const device = await createWasmDevice({ threads: Number(Deno.args[0] ?? 2) });
  for (const set of SETS) await measure(path, device, set);
  device.close();
}

async function measure(
  path: string,
  device: WasmDevice,
  { title, tasks, sampling }: TaskSet,
): Promise<void> {
  const prompt = { ...DEFAULT_PROMPT_SETTINGS, format: "plain" as const };
  const settings = {
    prompt: { ...prompt, from: "default" as const },
    seed: SEED,
    keepPromptTokens: null,
    sampling: {
      temperature: 0,
      top_p: 1,
      top_k: 0,
      min_p: 0,
      repetition_penalty: 1,
      max_new_tokens: 256,
      samples: 1,
      ...sampling,
    },
  };
  const where = { kind: "local" as const, path, weights: path };
  const questions = tasks.map((name) =>
    createTestSet({ name }, { seed: SEED, size: EACH_ALONE, fewShot: 0 })
  )
    .flatMap((set) => set.entries.map((_, index) => ({ set, index, samples: [0] })));
  const folder = await Deno.makeTempDir();
  let single = Infinity, together = Infinity, harness = 0, tokens = { prompt: 0, new: 0 };
  for (let round = 0; round <= ROUNDS; round++) {
    const model = await LocalModel.open({ name: path, where, settings }, device);
    const start = performance.now();
    for (const question of questions) await model.answer([question], () => {}, () => false);
    const one = (performance.now() - start) / questions.length;
    model.close();
    const { result, seconds } = await benchmark({
      models: [path],
      tasks,
      numExamples: EACH,
      device,
      seed: SEED,
      sampling: settings.sampling,
      prompt,
      outputDir: `${folder}/${round}`,
    });
    if (round === 0) continue; // compilers warm up
    const usage = Object.values(result.tasks).map(({ models }) => models[path]!.usage);
    const n = Object.values(result.tasks).reduce((sum, { models }) => sum + models[path]!.total, 0);
    const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / n;
    tokens = {
      prompt: sum(usage.map(({ prompt_tokens }) => prompt_tokens)),
      new: sum(usage.map(({ completion_tokens }) => completion_tokens)),
    };
    single = Math.min(single, one);
    const all = (seconds.total - seconds.loading) * 1000 / n;
    if (all >= together) continue;
    together = all;
    harness = all - seconds.model * 1000 / n;
  }
  await Deno.remove(folder, { recursive: true });
  console.log(
    `${title}: ${tokens.prompt.toFixed(0)} + ${tokens.new.toFixed(0)} tokens; ` +
      `${single.toFixed(2)} ms alone, ${together.toFixed(2)} ms together, ` +
      `ratio ${(single / together).toFixed(2)}, harness ${harness.toFixed(3)} ms, ` +
      `${(100 * harness / together).toFixed(2)} %`,
  );
}
