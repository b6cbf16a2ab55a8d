/**
 * The gradient of one optimizer step by gradient accumulation: the step's completions are cut into
 * micro-batches. Each has a forward pass of the reference model (where the loss needs it) and a
 * forward and a backward pass of the policy.
 *
 * A micro-batch holds a fixed number of completions, as in TRL. If that is not a multiple of the
 * group size, some groups are cut in two, and both parts compute the prompt. The gradient is the
 * same either way, because the loss is normalised by the whole step (`loss/loss.ts`).
 *
 * With `top_entropy_quantile` the quantile is that of the whole step (TRL: of each micro-batch). If
 * there are several micro-batches, this takes a forward pass over all of them before the first
 * backward pass.
 *
 * If the loss is the policy term alone, a group whose advantages are all 0 has no gradient. It gets
 * a forward pass, for its metrics, and no backward pass. With verifiable rewards often half of the
 * groups are of this kind.
 */
import type { DropoutKey, Group } from "../../models/network/types.ts";
import type { CausalLM } from "../../models/causal_lm.ts";
import type { PassOptions } from "../../models/network/restored_pass.ts";
import type { ActivationStore } from "../../models/network/activation_store.ts";
import { occasionalPause } from "./yield_to_events.ts";
import { entropyMask, grpoLoss, type LossInput, type LossSettings } from "../loss/loss.ts";
import { type ImportanceKeys, importanceRatio } from "../loss/importance_ratio.ts";
import { averageMetrics, type Metrics } from "../metrics/metrics.ts";
import type { Teacher } from "../model/teacher.ts";
import { teacherTerm } from "./teacher_term.ts";
import type { ReferencePolicy } from "./reference_policy.ts";
import {
  driftMetrics,
  driftOf,
  importanceMetrics,
  importanceSizes,
  joinedSums,
  type ValueSums,
} from "../metrics/rollout_metrics.ts";
import { ALONE, type Ranks } from "../../cluster/ranks/ranks.ts";
import { GradientSum } from "./gradient_sum.ts";

export interface TrainingRow {
  /** Rows of the same group are adjacent and share their prompt. */
  group: number;
  /** In the run, and in the group: keys of the dropout masks. */
  promptId: number;
  branch: number;
  promptIds: readonly number[];
  /** The prompt that a teacher sees, where that is another one. */
  teacherPromptIds?: readonly number[];
  /** The tokens of the completion; none for a masked row, which still counts as a row. */
  ids: readonly number[];
  /** 1 for the tokens that the loss counts; null = all. The others are context. [ids] */
  mask?: readonly number[] | null;
  advantage: number;
  /** Of each token, where a dialogue's turns have advantages of their own. [ids] */
  tokenAdvantages?: readonly number[];
  /** Under the policy that sampled the completion; null = the current one. [ids] */
  oldLogp: ArrayLike<number> | null;
  /** The sampler's log-probabilities: the metrics then hold the difference. [ids] */
  samplerLogp?: ArrayLike<number>;
}

/** What sampled the rows, where that is not the policy itself (`rollout/sampler.ts`). */
export interface OtherSampler {
  /** null = the loss is not corrected for the difference. */
  correction: ImportanceKeys | null;
}

export interface AccumulationOptions {
  microBatchSize: number;
  temperature: number;
  settings: LossSettings;
  maxCompletionLength: number;
  reference: ReferencePolicy | null;
  /** The model that is learned from, by a term beside that of the advantages. Default: none. */
  teacher?: Teacher | null;
  /** Another engine or an older policy sampled; every row has `samplerLogp`. Default: neither. */
  otherSampler?: OtherSampler | null;
  /** Key of the masks of `lora.lora_dropout`; not read by a model without dropout. */
  dropout?: DropoutKey;
  /** What sampling has kept of every row, under the present policy; without dropout. */
  kept?: ActivationStore | null | undefined;
  /** Adds up the micro-batches, which it deals to ranks. Default: in place, on one rank. */
  sum?: GradientSum;
  /** The gradients are those of the loss times this (loss_scale.ts). Default 1. */
  lossScale?: number;
}

export interface AccumulationResult {
  /** Sum over the micro-batches. */
  loss: number;
  /** Means over the micro-batches, as TRL logs them. */
  metrics: Metrics;
  tokens: number;
  /** Mean entropy of the tokens that the entropy mask keeps; NaN if there are none. */
  entropy: number;
}

interface MicroResult {
  loss: number;
  metrics: Metrics;
  bonus: { entropy: number; tokens: number };
  drift: ValueSums;
  importance: ValueSums;
}

/**
 * Zeroes the model's gradients, then computes those of all rows of an optimizer step. Rows without
 * tokens are allowed.
 */
export async function accumulateGradients(
  model: CausalLM,
  rows: readonly TrainingRow[],
  options: AccumulationOptions,
): Promise<AccumulationResult> {
  const { settings, temperature, dropout, kept, sum = new GradientSum(model) } = options;
  const { lossScale = 1, teacher = null } = options;
  const { otherSampler = null } = options, { correction = null } = otherSampler ?? {};
  const passOptions = {
    temperature,
    kept: kept ?? undefined,
    ...(dropout === undefined ? {} : { dropout }),
  };
  const tokens = rows.reduce((sum, { ids, mask }) => sum + counted(ids, mask).length, 0);
  const batches = cut(rows, options.microBatchSize);
  const pause = occasionalPause();
  const share = settings.top_entropy_quantile;
  const entropyMasks = share < 1 && batches.length > 1
    ? await stepEntropyMasks(model, batches, share, passOptions, sum.ranks)
    : null;
  const entropyTokens = entropyMasks !== null
    ? entropyMasks.flatMap((mask) => Array.from(mask)).reduce((a, b) => a + b, 0)
    : share < 1
    ? null
    : tokens;
  const step = {
    tokens,
    rows: rows.length,
    microBatches: batches.length,
    maxCompletionLength: options.maxCompletionLength,
    ...(entropyTokens === null ? {} : { entropyTokens: Math.max(entropyTokens, 1) }),
  };
  const backward = async (b: number): Promise<MicroResult> => {
    const batch = batches[b]!;
    // Before the forward pass of the policy, whose activations the backward pass needs.
    const refLogp = await referenceLogp(batch, options);
    const term = teacher === null ? null : await teacherTerm(
      teacher,
      model,
      toGroups(batch, (row) => row.teacherPromptIds ?? row.promptIds),
      sharesOf(batch, tokens),
      { temperature, lossScale },
    );
    const balances = model.config.experts?.balance !== undefined;
    const allRows = settings.beta !== 0 || settings.entropy_coef !== 0 || teacher !== null ||
      balances;
    const trained = rowsWithGradient(batch, allRows);
    const values = await forwardAll(model, batch, trained, {
      ...passOptions,
      ...(term === null ? {} : { alternatives: term.alternatives }),
    });
    const input = lossInput(batch, values, refLogp), { offsets, logp } = input;
    const oldLogp = input.oldLogp ?? logp;
    const drift = batch.flatMap(({ samplerLogp, mask }, row) => {
      const own = Array.prototype.slice.call(oldLogp, offsets[row], offsets[row + 1]);
      return samplerLogp === undefined ? [] : driftOf(own, counted(samplerLogp, mask));
    });
    const samplerLogp = otherSampler && joined(batch, (row) => row.samplerLogp);
    const importance = samplerLogp && correction &&
      importanceRatio(offsets, oldLogp, samplerLogp, correction);
    await pause();
    const entropyMask = entropyMasks?.[b] ?? null;
    const { loss, metrics, bonus, dlogp, dentropy } = grpoLoss(
      { ...input, samplerLogp, importance, entropyMask },
      settings,
      step,
    );
    let distance = 0;
    if (trained.includes(true)) {
      // A teacher trains all rows, and may ask for more than their tokens.
      const length = term === null ? undefined : values.logp.length;
      const [byLogp, byEntropy] = [dlogp, dentropy].map((slopes) =>
        slopes === null ? undefined : spread(slopes, batch, trained, lossScale, length)
      );
      distance = await term?.add(values.logp, byLogp!) ?? 0;
      model.backward(byLogp!, byEntropy, lossScale / batches.length);
    }
    await pause();
    if (teacher !== null) metrics["teacher/divergence"] = distance * tokens / logp.length;
    return {
      loss: loss + (teacher?.weight ?? 0) * distance + (values.balance ?? 0) / batches.length,
      metrics,
      bonus,
      drift: joinedSums(drift),
      importance: joinedSums(
        importance === null
          ? []
          : importanceSizes(importance, offsets, correction!.vllm_importance_sampling_mode),
      ),
    };
  };
  const results = await sum.over(batches.length, backward);
  const total = (value: (result: MicroResult) => number) =>
    results.reduce((sum, result) => sum + value(result), 0);
  return {
    loss: total(({ loss }) => loss),
    metrics: {
      ...averageMetrics(results.map(({ metrics }) => metrics)),
      ...driftMetrics(joinedSums(results.map(({ drift }) => drift))),
      ...importanceMetrics(joinedSums(results.map(({ importance }) => importance))),
    },
    tokens,
    entropy: total(({ bonus }) => bonus.entropy) / total(({ bonus }) => bonus.tokens),
  };
}

/** What each token counts in the mean over the tokens of the step. @param tokens all of them */
function sharesOf(rows: readonly TrainingRow[], tokens: number): Float64Array {
  const each = 1 / Math.max(tokens, 1);
  return Float64Array.from(
    rows.flatMap(({ ids, mask }) => ids.map((_, t) => !mask || mask[t] === 1 ? each : 0)),
  );
}

type LossOptions = Omit<
  AccumulationOptions,
  "dropout" | "lossScale" | "microBatchSize" | "sum"
>;

/** Loss and metrics of rows under the current policy, without gradient and without dropout. */
export async function lossWithoutGradient(
  model: CausalLM,
  rows: readonly TrainingRow[],
  options: LossOptions,
): Promise<Pick<AccumulationResult, "loss" | "metrics">> {
  const { settings, temperature, maxCompletionLength } = options;
  const refLogp = await referenceLogp(rows, options);
  const values = await model.forward(toGroups(rows), { temperature, train: false });
  const input = lossInput(rows, values, refLogp), tokens = input.logp.length;
  const step = { tokens, rows: rows.length, microBatches: 1, maxCompletionLength };
  return grpoLoss(input, settings, step);
}

/** Log-probabilities of the rows' tokens under the reference; null where the loss has no use. */
async function referenceLogp(
  rows: readonly TrainingRow[],
  { reference, settings, temperature }: LossOptions,
): Promise<ArrayLike<number> | null> {
  if (reference === null || settings.beta === 0) return null;
  return await reference.logp(toGroups(rows), temperature);
}

/** What the loss takes of rows and of the passes over them: the values of the counted tokens. */
function lossInput(
  rows: readonly TrainingRow[],
  { logp, entropy }: PassValues,
  refLogp: ArrayLike<number> | null,
) {
  return {
    offsets: offsetsOf(rows),
    advantages: rows.map((row) => row.advantage),
    tokenAdvantages: joined(rows, (row) => row.tokenAdvantages),
    logp: countedOf(rows, logp),
    entropy: countedOf(rows, entropy),
    oldLogp: joined(rows, (row) => row.oldLogp),
    refLogp: refLogp && countedOf(rows, refLogp),
  } satisfies LossInput;
}

/** For each micro-batch, which of its tokens have an entropy in the top share of the whole step. */
async function stepEntropyMasks(
  model: CausalLM,
  batches: readonly TrainingRow[][],
  share: number,
  passOptions: Pick<PassOptions, "temperature" | "dropout" | "kept">,
  ranks: Ranks,
): Promise<ArrayLike<number>[]> {
  const entropies = await ranks.map(batches.length, async (b) => {
    const batch = batches[b]!;
    const { entropy } = await model.forward(toGroups(batch), { ...passOptions, train: false });
    return Float64Array.from(countedOf(batch, entropy));
  });
  const all = entropies.flatMap((part) => Array.from(part));
  const mask = entropyMask(all, new Uint8Array(all.length).fill(1), share);
  let at = 0;
  return entropies.map(({ length }) => Array.prototype.slice.call(mask, at, at += length));
}

/**
 * Log-probabilities of the rows' tokens under the current policy, without gradient and without
 * dropout; one array for each row. The passes are dealt to the ranks.
 */
export async function policyLogp(
  model: CausalLM,
  rows: readonly TrainingRow[],
  { microBatchSize, temperature }: Pick<AccumulationOptions, "microBatchSize" | "temperature">,
  ranks: Ranks = ALONE,
): Promise<Float64Array[]> {
  const batches = cut(rows, microBatchSize);
  const all = await ranks.map(batches.length, async (b) => {
    const batch = batches[b]!;
    const { logp } = await model.forward(toGroups(batch), { temperature, train: false });
    let at = 0;
    return batch.map(({ ids }) => Float64Array.from(logp.subarray(at, at += ids.length)));
  });
  return all.flat();
}

function hasSignal({ advantage, tokenAdvantages }: TrainingRow): boolean {
  return advantage !== 0 || tokenAdvantages?.some((value) => value !== 0) === true;
}

/** For each row, whether its group has a gradient; `all`: every row has one. */
function rowsWithGradient(rows: readonly TrainingRow[], all: boolean): boolean[] {
  const groups = new Set(rows.filter(hasSignal).map((row) => row.group));
  return rows.map((row) => all || groups.has(row.group));
}

/** What a forward pass gives, of all tokens. */
interface PassValues {
  logp: ArrayLike<number>;
  entropy: ArrayLike<number>;
  balance?: number;
}

/**
 * A forward pass over the rows without gradient, and then one over the others, whose activations
 * are kept for the backward pass. The values are in the order of `rows`.
 */
async function forwardAll(
  model: CausalLM,
  rows: readonly TrainingRow[],
  trained: readonly boolean[],
  passOptions: Pick<PassOptions, "temperature" | "dropout" | "kept" | "alternatives">,
): Promise<PassValues> {
  const idle = rows.filter((_, i) => !trained[i]), active = rows.filter((_, i) => trained[i]);
  const forward = (part: readonly TrainingRow[], train: boolean) =>
    model.forward(toGroups(part), { ...passOptions, train });
  if (active.length === 0) return await forward(idle, false);
  if (idle.length === 0) return await forward(active, true);
  const idlePart = await forward(idle, false);
  const parts = [await forward(active, true), idlePart] as const, next = [0, 0];
  const total = parts[0].logp.length + idlePart.logp.length;
  const logp = new Float64Array(total), entropy = new Float64Array(total);
  for (const [i, { ids }] of rows.entries()) {
    const part = trained[i] ? 0 : 1, begin = next[part]!, end = next[part] = begin + ids.length;
    const out = next[0]! + next[1]! - ids.length;
    logp.set(parts[part].logp.subarray(begin, end), out);
    entropy.set(parts[part].entropy.subarray(begin, end), out);
  }
  const { balance } = parts[0];
  return { logp, entropy, ...(balance === undefined ? {} : { balance }) };
}

/**
 * The slopes of the counted tokens, times `lossScale`, as slopes of all tokens of the rows with a
 * gradient.
 * @param length of the result, with zeros at its end; default: those tokens
 */
function spread(
  slopes: Float64Array,
  rows: readonly TrainingRow[],
  trained: readonly boolean[],
  lossScale: number,
  length?: number,
): Float64Array {
  const parts: number[] = [];
  let at = 0;
  for (const [i, { ids, mask }] of rows.entries()) {
    for (let t = 0; t < ids.length; t++) {
      const isCounted = !mask || mask[t] === 1, slope = isCounted ? slopes[at++]! : 0;
      if (trained[i]) parts.push(slope * lossScale);
    }
  }
  const out = new Float64Array(length ?? parts.length);
  out.set(parts);
  return out;
}

/** The values of the tokens that the loss counts. */
export function counted<T extends ArrayLike<number>>(
  values: T,
  mask: readonly number[] | null | undefined,
): T | number[] {
  return mask ? Array.from(values).filter((_, t) => mask[t] === 1) : values;
}

/** The same of the tokens of all rows. */
function countedOf(rows: readonly TrainingRow[], values: ArrayLike<number>): ArrayLike<number> {
  const mask = rows.flatMap(({ ids, mask }) => mask ?? ids.map(() => 1));
  return values.length === mask.length && !mask.includes(0) ? values : counted(values, mask);
}

/** Values that rows have, of all counted tokens; null unless every row has them. */
function joined(
  rows: readonly TrainingRow[],
  of: (row: TrainingRow) => ArrayLike<number> | null | undefined,
): Float64Array | null {
  const parts: number[] = [];
  for (const row of rows) {
    const values = of(row);
    if (!values) return null;
    for (const value of Array.from(counted(values, row.mask))) parts.push(value);
  }
  return Float64Array.from(parts);
}

/** Micro-batches of `size` rows; the last one may be smaller. */
function cut<T>(rows: readonly T[], size: number): T[][] {
  const batches: T[][] = [];
  for (let start = 0; start < rows.length; start += size) {
    batches.push(rows.slice(start, start + size));
  }
  return batches;
}

/** Rows as groups of a forward pass: adjacent rows of one group share their prompt. */
function toGroups(
  rows: readonly TrainingRow[],
  promptOf: (row: TrainingRow) => readonly number[] = (row) => row.promptIds,
): Group[] {
  const groups: (Group & { number: number; branches: (readonly number[])[] })[] = [];
  for (const row of rows) {
    const { group, promptId, branch, ids } = row, promptIds = promptOf(row);
    const last = groups.at(-1);
    if (last?.number === group) last.branches.push(ids);
    else groups.push({ number: group, promptId, firstBranch: branch, promptIds, branches: [ids] });
  }
  return groups;
}

/** Index of the first counted token of each row, and the number of all. [rows + 1] */
function offsetsOf(rows: readonly TrainingRow[]): number[] {
  const offsets = [0];
  for (const { ids, mask } of rows) offsets.push(offsets.at(-1)! + counted(ids, mask).length);
  return offsets;
}
