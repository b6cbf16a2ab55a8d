/**
 * The gradient of one optimizer step (its window of completions): cut into micro-batches, each with a
 * forward pass of the reference (where the loss needs one), a forward and a backward pass of the policy.
 *
 * Micro-batches hold a fixed number of completions, as in TRL; a micro-batch that is a multiple of the
 * group size cuts between groups, otherwise a divided group has its prompt in both parts. The gradient is the
 * same either way, because the loss is normalised by the window (`loss.ts`).
 */
import type { Group, LanguageModel } from "../models/types.ts";
import { grpoLoss, type LossSettings } from "./loss.ts";
import { averageMetrics, type Metrics } from "./metrics.ts";
import type { ReferencePolicy } from "./reference_policy.ts";

/** One completion to train on. */
export interface WindowRow {
  /** Rows with the same number stand together and share their prompt. */
  group: number;
  promptIds: readonly number[];
  /** The tokens that are trained on; empty for a row that only counts (a masked one). */
  ids: readonly number[];
  advantage: number;
  /** Log-probabilities when the completion was sampled, [ids.length]; null = on-policy. */
  oldLogp: ArrayLike<number> | null;
}

export interface WindowOptions {
  /** Completions per forward pass. */
  microBatchSize: number;
  temperature: number;
  settings: LossSettings;
  maxCompletionLength: number;
  reference: ReferencePolicy | null;
}

export interface WindowResult {
  /** Sum over the micro-batches. */
  loss: number;
  /** Means over the micro-batches, as TRL logs them. */
  metrics: Metrics;
  /** Tokens trained on. */
  tokens: number;
}

/** Leaves the window's gradient in the model (zeroed first). Rows without any token are allowed. */
export async function trainWindow(
  model: LanguageModel,
  rows: readonly WindowRow[],
  options: WindowOptions,
): Promise<WindowResult> {
  const { settings, temperature } = options;
  model.zeroGrad();
  const tokens = rows.reduce((sum, row) => sum + row.ids.length, 0);
  const batches = cut(rows, options.microBatchSize);
  const records: Metrics[] = [];
  let loss = 0;
  for (const batch of batches) {
    const groups = toGroups(batch);
    // Before the policy's own forward, whose activations the backward pass consumes.
    const refLogp = options.reference === null || settings.beta === 0
      ? null
      : await options.reference.logp(groups, temperature);
    const { logp, entropy } = await model.forward(groups, { temperature, train: true });
    const offsets = [0];
    for (const row of batch) offsets.push(offsets.at(-1)! + row.ids.length);
    const result = grpoLoss(
      {
        offsets,
        advantages: batch.map((row) => row.advantage),
        logp,
        entropy,
        oldLogp: joinOldLogp(batch),
        refLogp,
      },
      settings,
      {
        tokens,
        rows: rows.length,
        microBatches: batches.length,
        maxCompletionLength: options.maxCompletionLength,
        ...(settings.top_entropy_quantile === undefined || settings.top_entropy_quantile >= 1
          ? { entropyTokens: Math.max(tokens, 1) }
          : {}),
      },
    );
    if (result.dentropy === null) model.backward(result.dlogp);
    else model.backward(result.dlogp, result.dentropy);
    loss += result.loss;
    records.push(result.metrics);
  }
  return { loss, metrics: averageMetrics(records), tokens };
}

/** Log-probabilities of the rows' tokens under the current policy, without gradient; one array a row. */
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

/** Micro-batches of `size` rows; the last may be smaller. */
function cut<T>(rows: readonly T[], size: number): T[][] {
  const batches: T[][] = [];
  for (let start = 0; start < rows.length; start += size) {
    batches.push(rows.slice(start, start + size));
  }
  return batches;
}

/** Neighbouring rows of one group share their prompt. */
function toGroups(rows: readonly WindowRow[]): Group[] {
  const groups: {
    number: number;
    promptIds: readonly number[];
    branches: (readonly number[])[];
  }[] = [];
  for (const { group, promptIds, ids } of rows) {
    const last = groups.at(-1);
    if (last?.number === group) last.branches.push(ids);
    else groups.push({ number: group, promptIds, branches: [ids] });
  }
  return groups;
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
