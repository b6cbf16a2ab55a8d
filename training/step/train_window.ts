/**
 * The gradient of one optimizer step (its window of completions): cut into micro-batches, each with a
 * forward pass of the reference (where the loss needs one), a forward and a backward pass of the policy.
 *
 * Micro-batches hold a fixed number of completions, as in TRL; a micro-batch that is a multiple of the
 * group size cuts between groups, otherwise a divided group has its prompt in both parts. The gradient is the
 * same either way, because the loss is normalised by the window (`loss.ts`).
 *
 * Where only tokens of high entropy are trained on, the quantile is that of the whole window (TRL: of each
 * micro-batch), so it takes a forward pass over the window before the first backward pass, unless the window
 * is one micro-batch.
 *
 * Where the loss is the policy term alone, a group whose advantages are all 0 has no gradient: it gets a
 * forward pass, for its metrics, and no backward pass. With verifiable rewards that is often half of them.
 */
import type { DropoutKey, ForwardOptions, Group } from "../../models/network/types.ts";
import type { LanguageModel } from "../../models/language_model.ts";
import { occasionalPause } from "./event_loop.ts";
import { entropyMask, grpoLoss, type LossSettings } from "../loss/loss.ts";
import { averageMetrics, type Metrics } from "../metrics/metrics.ts";
import type { ReferencePolicy } from "./reference_policy.ts";
import { SamplerDrift } from "../metrics/rollout_metrics.ts";

/** One completion to train on. */
export interface WindowRow {
  /** Rows with the same number stand together and share their prompt. */
  group: number;
  /** Number of the prompt in the whole run, and of the completion in its group: they key dropout. */
  promptId: number;
  branch: number;
  promptIds: readonly number[];
  /** The tokens that are trained on; empty for a row that only counts (a masked one). */
  ids: readonly number[];
  advantage: number;
  /** Log-probabilities when the completion was sampled, [ids.length]; null = on-policy. */
  oldLogp: ArrayLike<number> | null;
  /** What the sampler saw, to be held against the policy's own, where these should be equal; [ids.length]. */
  samplerLogp?: ArrayLike<number>;
}

export interface WindowOptions {
  /** Completions per forward pass. */
  microBatchSize: number;
  temperature: number;
  settings: LossSettings;
  maxCompletionLength: number;
  reference: ReferencePolicy | null;
  /** Masks of `lora.lora_dropout`; a model without dropout needs and reads none. */
  dropout?: DropoutKey;
}

export interface WindowResult {
  /** Sum over the micro-batches. */
  loss: number;
  /** Means over the micro-batches, as TRL logs them. */
  metrics: Metrics;
  /** Tokens trained on. */
  tokens: number;
  /** Mean entropy of the tokens past the entropy quantile; NaN without any. */
  entropy: number;
}

/** Leaves the window's gradient in the model (zeroed first). Rows without any token are allowed. */
export async function trainWindow(
  model: LanguageModel,
  rows: readonly WindowRow[],
  options: WindowOptions,
): Promise<WindowResult> {
  const { settings, temperature, dropout } = options;
  const how = { temperature, ...(dropout === undefined ? {} : { dropout }) };
  model.zeroGrad();
  const tokens = rows.reduce((sum, row) => sum + row.ids.length, 0);
  const batches = cut(rows, options.microBatchSize);
  const records: Metrics[] = [];
  const pause = occasionalPause();
  const share = settings.top_entropy_quantile;
  const past = share < 1 && batches.length > 1
    ? await pastQuantile(model, batches, share, how)
    : null;
  const entropyTokens = past !== null
    ? past.flatMap((mask) => Array.from(mask)).reduce((a, b) => a + b, 0)
    : share < 1
    ? null
    : tokens;
  const bonus = { entropy: 0, tokens: 0 };
  const drift = new SamplerDrift();
  let loss = 0;
  for (const [b, batch] of batches.entries()) {
    // Before the policy's own forward, whose activations the backward pass consumes.
    const refLogp = options.reference === null || settings.beta === 0
      ? null
      : await options.reference.logp(toGroups(batch), temperature);
    const everyRow = settings.beta !== 0 || settings.entropy_coef !== 0;
    const taught = taughtRows(batch, everyRow);
    const { logp, entropy } = await forwardAll(model, batch, taught, how);
    let at = 0;
    for (const { ids, samplerLogp } of batch) {
      if (samplerLogp !== undefined) drift.add(logp, at, samplerLogp);
      at += ids.length;
    }
    await pause();
    const result = grpoLoss(
      {
        offsets: offsetsOf(batch),
        advantages: batch.map((row) => row.advantage),
        logp,
        entropy,
        oldLogp: joinOldLogp(batch),
        refLogp,
        entropyMask: past?.[b] ?? null,
      },
      settings,
      {
        tokens,
        rows: rows.length,
        microBatches: batches.length,
        maxCompletionLength: options.maxCompletionLength,
        ...(entropyTokens === null ? {} : { entropyTokens: Math.max(entropyTokens, 1) }),
      },
    );
    if (taught.includes(true)) {
      const dlogp = pick(result.dlogp, batch, taught);
      if (result.dentropy === null) model.backward(dlogp);
      else model.backward(dlogp, pick(result.dentropy, batch, taught));
    }
    loss += result.loss;
    bonus.entropy += result.bonus.entropy;
    bonus.tokens += result.bonus.tokens;
    records.push(result.metrics);
    await pause();
  }
  return {
    loss,
    metrics: { ...averageMetrics(records), ...drift.metrics() },
    tokens,
    entropy: bonus.entropy / bonus.tokens,
  };
}

/** Loss and metrics of rows under the policy as it is, without gradient and without dropout. */
export async function windowLoss(
  model: LanguageModel,
  rows: readonly WindowRow[],
  options: Omit<WindowOptions, "dropout" | "microBatchSize">,
): Promise<Pick<WindowResult, "loss" | "metrics">> {
  const { settings, temperature, reference } = options;
  const refLogp = reference === null || settings.beta === 0
    ? null
    : await reference.logp(toGroups(rows), temperature);
  const { logp, entropy } = await model.forward(toGroups(rows), { temperature, train: false });
  return grpoLoss(
    {
      offsets: offsetsOf(rows),
      advantages: rows.map((row) => row.advantage),
      logp,
      entropy,
      oldLogp: joinOldLogp(rows),
      refLogp,
    },
    settings,
    {
      tokens: logp.length,
      rows: rows.length,
      microBatches: 1,
      maxCompletionLength: options.maxCompletionLength,
    },
  );
}

/** For each micro-batch, which of its tokens are past the entropy quantile of the window. */
async function pastQuantile(
  model: LanguageModel,
  batches: readonly WindowRow[][],
  share: number,
  how: Pick<ForwardOptions, "temperature" | "dropout">,
): Promise<ArrayLike<number>[]> {
  const entropies: ArrayLike<number>[] = [];
  for (const batch of batches) {
    entropies.push((await model.forward(toGroups(batch), { ...how, train: false })).entropy);
  }
  const all = entropies.flatMap((part) => Array.from(part));
  const mask = entropyMask(all, new Uint8Array(all.length).fill(1), share);
  let at = 0;
  return entropies.map(({ length }) => Array.prototype.slice.call(mask, at, at += length));
}

/**
 * Log-probabilities of the rows' tokens under the current policy, without gradient and without dropout; one
 * array a row.
 */
export async function windowLogp(
  model: LanguageModel,
  rows: readonly WindowRow[],
  options: Pick<WindowOptions, "microBatchSize" | "temperature">,
): Promise<Float64Array[]> {
  const out: Float64Array[] = [];
  for (const batch of cut(rows, options.microBatchSize)) {
    const { logp } = await model.forward(toGroups(batch), {
      temperature: options.temperature,
      train: false,
    });
    let at = 0;
    for (const { ids } of batch) {
      out.push(Float64Array.from(logp.subarray(at, at += ids.length)));
    }
  }
  return out;
}

/** Rows whose group has a gradient; `all` = every row has one. */
function taughtRows(rows: readonly WindowRow[], all: boolean): boolean[] {
  const groups = new Set(rows.filter((row) => row.advantage !== 0).map((row) => row.group));
  return rows.map((row) => all || groups.has(row.group));
}

/**
 * Forward passes over the rows that teach nothing and then over those that do, whose activations stay for
 * the backward pass. Values are in the rows' own order.
 */
async function forwardAll(
  model: LanguageModel,
  rows: readonly WindowRow[],
  taught: readonly boolean[],
  how: Pick<ForwardOptions, "temperature" | "dropout">,
): Promise<{ logp: ArrayLike<number>; entropy: ArrayLike<number> }> {
  const idle = rows.filter((_, i) => !taught[i]), active = rows.filter((_, i) => taught[i]);
  const forward = (part: readonly WindowRow[], train: boolean) =>
    model.forward(toGroups(part), { ...how, train });
  if (active.length === 0) return await forward(idle, false);
  if (idle.length === 0) return await forward(active, true);
  const idlePart = await forward(idle, false);
  const parts = [await forward(active, true), idlePart] as const;
  const total = parts[0].logp.length + parts[1].logp.length;
  const logp = new Float64Array(total), entropy = new Float64Array(total);
  const at = [0, 0];
  let out = 0;
  for (const [i, { ids }] of rows.entries()) {
    const which = taught[i] ? 0 : 1, begin = at[which]!, end = begin + ids.length;
    logp.set(parts[which].logp.subarray(begin, end), out);
    entropy.set(parts[which].entropy.subarray(begin, end), out);
    at[which] = end;
    out += ids.length;
  }
  return { logp, entropy };
}

/** The values of the taught rows' tokens. */
function pick(
  values: Float64Array,
  rows: readonly WindowRow[],
  taught: readonly boolean[],
): Float64Array {
  const parts: number[] = [];
  let at = 0;
  for (const [i, { ids }] of rows.entries()) {
    const end = at + ids.length;
    if (taught[i]) { for (let t = at; t < end; t++) parts.push(values[t]!); }
    at = end;
  }
  return Float64Array.from(parts);
}

/** Micro-batches of `size` rows; the last may be smaller. */
function cut<T>(rows: readonly T[], size: number): T[][] {
  const batches: T[][] = [];
  for (let start = 0; start < rows.length; start += size) {
    batches.push(rows.slice(start, start + size));
  }
  return batches;
}

/** Neighbouring rows of one group share their prompt; their branches are neighbours too. */
function toGroups(rows: readonly WindowRow[]): Group[] {
  const groups: (Group & { number: number; branches: (readonly number[])[] })[] = [];
  for (const { group, promptId, branch, promptIds, ids } of rows) {
    const last = groups.at(-1);
    if (last?.number === group) last.branches.push(ids);
    else groups.push({ number: group, promptId, firstBranch: branch, promptIds, branches: [ids] });
  }
  return groups;
}

/** Where each row's tokens begin, and the end. [rows + 1] */
function offsetsOf(rows: readonly WindowRow[]): number[] {
  const offsets = [0];
  for (const row of rows) offsets.push(offsets.at(-1)! + row.ids.length);
  return offsets;
}

/** null unless every row has old log-probabilities. [tokens] */
function joinOldLogp(rows: readonly WindowRow[]): Float64Array | null {
  const parts: number[] = [];
  for (const { oldLogp } of rows) {
    if (oldLogp === null) return null;
    for (let t = 0; t < oldLogp.length; t++) parts.push(oldLogp[t]!);
  }
  return Float64Array.from(parts);
}
