/**
 * Whether the ranks of a run would do the same: before the first step they compare what decides
 * the results. A rank with another file, version or model would spoil the run without a sign.
 */
import { createHash } from "node:crypto";
import { compareConfigs } from "../../configs/config_difference.ts";
import { askedPlaces, placesText } from "../../configs/rank_layout.ts";
import { sha256Hex } from "../../core/checksums.ts";
import { programHash } from "../../core/machine/program_hash.ts";
import { VERSION } from "../../core/version.ts";
import { checkRankCount, idleRanks } from "./rank_count.ts";
import { runReduction } from "../step/run_optimizer.ts";
import type { Ranks } from "../../cluster/ranks/ranks.ts";
import type { CausalLM } from "../../models/causal_lm.ts";
import type { RunState } from "../checkpoint/run_state.ts";
import type { TrainerOptions } from "./trainer_options.ts";

const SAMPLED_PROBLEMS = 64, SAMPLED_VALUES = 64;

/** Steps between two comparisons of the weights, each of which reads all that are trained. */
const COMPARE_EVERY = 25;

const MAX_KEYS = 6;

const DIGITS = 16;

/** @throws UsageError when ranks differ, or are more than a batch has prompts */
export async function compareRanks(
  options: TrainerOptions,
  ranks: Ranks,
  trainProblems: number,
): Promise<void> {
  if (ranks.size === 1) return;
  await ranks.each(() => {
    if (options.phases !== "sft") checkRankCount(options.config, ranks.size);
  });
  const { device } = options;
  await ranks.compare(
    {
      "version": VERSION,
      "program": (await programHash()).slice(0, DIGITS),
      "configuration": await differingKeys(options.configText, ranks),
      "kind of device": device.name + (device.float === "f64" ? " f64" : ""),
      "data": hash(JSON.stringify(problemsOf(options.problems, trainProblems))),
      "model": await modelHash(options.model),
    },
    "Start all ranks with the same program, arguments and files.",
  );
}

/**
 * Compares what the ranks have computed: after each step the norm of the gradient, and after the
 * first one and then every so often the trained weights. They may differ where the gradients do
 * not, as these are summed over the ranks.
 * @param lastNorm gradient norm of the last step
 * @throws UsageError
 */
export async function compareStep(
  model: CausalLM,
  ranks: Ranks,
  state: RunState,
  lastNorm: number,
  isLast = false,
): Promise<void> {
  if (ranks.size === 1) return;
  const step = state.phase === "warm_start" ? state.warmStartStep : state.step;
  const texts = { "gradient of the last step": String(lastNorm) };
  if (isLast || step === 1 || (step > 0 && step % COMPARE_EVERY === 0)) {
    const digest = createHash("sha256");
    for (const { name } of model.trainable) {
      const values = await model.readParameter(name);
      digest.update(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
    }
    Object.assign(texts, { [`weights after step ${step}`]: digest.digest("hex").slice(0, DIGITS) });
  }
  await ranks.compare(
    texts,
    "They have computed different things, as different processors or damaged memory would. " +
      "--resume goes on from a checkpoint; one since the last comparison of weights may hold either.",
  );
}

/** The keys in which ranks differ, with their values on this one; "" when none does. */
async function differingKeys(configText: string, ranks: Ranks): Promise<string> {
  const first = await ranks.first(() => configText);
  const all = await ranks.each(() =>
    compareConfigs(first, configText).filter(({ before, after }) => before !== after)
  );
  const own = new Map(all[ranks.rank]!.map(({ key, after }) => [key, after]));
  const named = all.find((keys) => keys.length > 0) ?? [];
  return named.slice(0, MAX_KEYS)
    .map(({ key, before }) => `${key}=${(own.has(key) ? own.get(key) : before) ?? "not set"}`)
    .join(" ");
}

/** What a user should know of a run on ranks: some of them have nothing to do in the passes. */
export function rankNotes(
  options: TrainerOptions,
  ranks: number,
  warmStartSteps: number,
): string[] {
  const { config, model, phases, plannedRanks: size = ranks } = options;
  if (size === 1) return notesAlone(config.training, model);
  return idleRanks(warmStartSteps === 0 ? { ...config, sft: null } : config, size, phases);
}

/** Keys that change nothing, because there is one rank. */
function notesAlone(
  training: TrainerOptions["config"]["training"],
  model: CausalLM,
): string[] {
  const isFast = runReduction(training, model, training.gradient_accumulation_steps) === "fast";
  const asked = askedPlaces(training);
  return [
    ...(asked === null || asked.nodes * asked.perNode === 1
      ? []
      : [`${placesText(asked)}: this program is one process; rgx train starts several`]),
    ...(training.zero === 0
      ? []
      : ["training.zero=1 divides the optimizer's states over ranks: this one has all of them"]),
    ...(training.reduce_dtype === "float32" || !isFast ? [] : [
      "training.reduce_dtype=bfloat16 is for gradients between ranks (reduction fast): one rank " +
      "rounds nothing",
    ]),
  ];
}

const hash = (text: string | Uint8Array): string => sha256Hex(text).slice(0, DIGITS);

/** Problems at equal distances, and those held out. */
function problemsOf(problems: TrainerOptions["problems"], count: number): unknown[] {
  const stride = Math.max(1, Math.floor(count / SAMPLED_PROBLEMS));
  const sampled = Array.from(
    { length: Math.ceil(count / stride) },
    (_, i) => problems.trainEntry(i * stride),
  );
  const all = [...sampled, ...problems.heldOut, ...problems.validation];
  return [count, ...all.map((entry) => [entry.question, entry.answer, entry.messages ?? null])];
}

async function modelHash(model: CausalLM): Promise<string> {
  const parts: number[] = [];
  for (const { name, shape } of model.parameters) {
    const count = Math.min(SAMPLED_VALUES, shape.reduce((a, b) => a * b, 1));
    parts.push(...await model.readParameter(name, 0, count));
  }
  return hash(new Uint8Array(Float64Array.from(parts).buffer));
}
