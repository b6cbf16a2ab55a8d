/**
 * The end of a decode step: the head for all rows, then the next token of each row. Rows with the
 * same sampling parameters are sampled by one operation, whatever their seeds. When parameters
 * differ, each sampling batch is sampled from copies of its logits, so what a row samples never
 * depends on the parameters of other rows. Tokens and log-probabilities stay on the device until
 * the host reads them.
 */
import { type AdjustLogitsArgs, seenWords } from "../../../kernels/ops/adjust_logits/spec.ts";
import { COUNTER_WORDS } from "../../../kernels/ops/sample/spec.ts";
import { type HostArray, type Tensor, VIEW_ALIGNMENT } from "../../../kernels/tensor.ts";
import type { ConstrainedText } from "../../grammar/token_constraint.ts";
import { headLogits } from "../../network/lm_head.ts";
import type { Network } from "../../network/weights/model_weights.ts";
import type { SamplingBatch, SamplingParams } from "./sampling_params.ts";
import type { Workspace } from "../../network/workspace.ts";

export interface SampledRow {
  promptId: number;
  /** The branch's number within its prompt, which keys its random draws. */
  branch: number;
  /** Index of the sampled token in its completion. */
  position: number;
  /** Added to the position in the draws. */
  firstPosition: number;
  /** Its row in the sets of seen tokens, and its state behind those of prompts. */
  slot: number;
  /** The token before, as of the host's last read. */
  newest: number;
  /** The tokens so far, as of the host's last read. */
  completion: { readonly ids: readonly number[] };
  /** What its completion is held to, as of the host's last read; null = nothing. */
  form: ConstrainedText | null;
  params: SamplingParams;
}

/** Columns of a step's rows in device memory, as {@link DecodeSampler.sample} reads them. */
export interface SampledColumns {
  counters: Tensor; // u32 [rows, COUNTER_WORDS]
  /** Row in the sets of seen tokens. */
  slots: Tensor; // u32 [rows]
  /** Tokens that the step has fed, or null when it fed none. */
  fed: Tensor | null; // u32 [rows]
}

export interface SampledTokens {
  tokens: Uint32Array;
  logprobs: Float32Array | Float64Array;
  /** Index of row `row` of step `step` in both arrays. */
  at: (step: number, row: number) => number;
}

function padded(rows: number): number {
  return Math.ceil(rows / VIEW_ALIGNMENT) * VIEW_ALIGNMENT;
}

function historyLength(slots: number, stepsPerRead: number): number {
  return Math.max(padded(slots) * stepsPerRead, VIEW_ALIGNMENT * slots);
}

export class DecodeSampler {
  /** Number of rows that each step has in the buffers of tokens and in step tables. */
  readonly stride: number;
  readonly #tokens: Tensor; // u32 [steps, stride], or one sampling batch after the other
  readonly #logp: Tensor;
  /** The place of each row in the buffers, if the last step had several sampling batches. */
  #elements: Uint32Array | null = null;
  #end = 0;

  constructor(
    private readonly network: Network,
    private readonly workspace: Workspace,
    private readonly slots: number,
    stepsPerRead: number,
  ) {
    this.stride = padded(slots);
    const length = historyLength(slots, stepsPerRead);
    this.#tokens = workspace.get("decode.tokens", length, "u32");
    this.#logp = workspace.get("decode.logp", length);
  }

  /**
   * The tokens of step `step` since the last read, row by row. Valid for a step with one sampling
   * batch.
   */
  tokensOf(step: number): Tensor {
    return this.#tokens.view(step * this.stride, this.stride);
  }

  /**
   * The same in another order: of row `moved[r]` of the step for each row r. Tokens that the host
   * has not read stay on the device.
   */
  movedTokens(step: number, moved: Uint32Array): Tensor {
    const { network: { device }, workspace, stride } = this;
    const index = workspace.upload("decode.moved", moved);
    const out = workspace.get("decode.fed", stride, "u32");
    device.run("gather_rows", { table: this.tokensOf(step), index, out, rows: moved.length, d: 1 });
    return out;
  }

  /** Runs the head: logits of rows of the final norm's output `normed` [count, d]. */
  score(normed: Tensor, count: number): Tensor {
    const { network, workspace, slots } = this;
    const logits = workspace.get("logits", slots * network.config.vocabSize);
    headLogits(network, workspace, { normed, out: logits, rows: count, room: slots });
    return logits;
  }

  /**
   * The sampling parameters when all rows are one batch that samples from unchanged logits;
   * otherwise null.
   */
  plainParams([batch, ...more]: readonly SamplingBatch[]): SamplingParams | null {
    if (batch === undefined || more.length > 0 || batch.forbidsEnds) return null;
    const { params } = batch, { adjust, penalty, constraint } = params;
    return adjust === null && penalty === 1 && constraint === null ? params : null;
  }

  /**
   * Runs the sampling operation for such parameters. `noteSampled` must be called after it, also
   * when it was replayed from a recording.
   */
  samplePlain(
    step: number,
    params: SamplingParams,
    logits: Tensor,
    { counters }: Pick<SampledColumns, "counters">,
    count: number,
  ): void {
    this.#runSample(params, { logits }, counters, count, step * this.stride);
  }

  /** Notes that step `step` since the last read has sampled tokens of `count` rows. */
  noteSampled(step: number, count: number): void {
    this.#elements = null;
    this.#end = step * this.stride + count;
  }

  /**
   * Samples a token for each row of `logits`, as step `step` since the last read. With several
   * batches, or with a function on the host, the host must read before and after every step.
   * @param seen sets of seen tokens, for a repetition penalty
   */
  async sample(
    step: number,
    rows: readonly SampledRow[],
    batches: readonly SamplingBatch[],
    logits: Tensor,
    columns: SampledColumns,
    seen: Tensor | null,
  ): Promise<void> {
    const { network: { device, config: { vocabSize: vocab } }, workspace } = this;
    const count = rows.length;
    if (batches.length === 1) {
      await this.#sampleBatch(batches[0]!, rows, logits, columns, seen, step * this.stride);
      this.noteSampled(step, count);
      return;
    }
    const elements = this.#elements = new Uint32Array(count);
    let place = 0;
    for (const batch of batches) {
      const index = workspace.upload("decode.batch", Uint32Array.from(batch.rows));
      const rowCount = batch.rows.length, { counters, slots, fed } = columns;
      const pick = (name: string, table: Tensor, d: number, type: "float" | "u32" = "u32") => {
        const out = workspace.get(`${name}.batch`, this.slots * d, type);
        device.run("gather_rows", { table, index, out, rows: rowCount, d });
        return out;
      };
      const own = {
        counters: pick("decode.counters", counters, COUNTER_WORDS),
        slots: pick("decode.slots", slots, 1),
        fed: fed === null ? null : pick("decode.newest", fed, 1),
      };
      const batchLogits = pick("logits", logits, vocab, "float");
      await this.#sampleBatch(batch, rows, batchLogits, own, seen, place);
      batch.rows.forEach((row, r) => elements[row] = place + r);
      this.#end = place + rowCount;
      place += padded(rowCount);
    }
  }

  /**
   * Copies the tokens that were sampled since the last read. What it returns waits for them. Steps
   * in between may write to the same places.
   */
  async beginRead(): Promise<() => Promise<SampledTokens>> {
    const { stride } = this, elements = this.#elements, end = this.#end;
    const at = (step: number, row: number) =>
      elements === null ? step * stride + row : elements[row]!;
    const finish = await this.#beginCopies([this.#tokens, this.#logp], end);
    return async () => {
      const [tokens, logprobs] = await finish();
      return {
        tokens: tokens as Uint32Array,
        logprobs: logprobs as Float32Array | Float64Array,
        at,
      };
    };
  }

  async #beginCopies(
    tensors: readonly Tensor[],
    length: number,
  ): Promise<() => Promise<HostArray[]>> {
    const { device } = this.network;
    if (device.readLater !== undefined) {
      return await device.readLater(tensors.map((tensor) => ({ tensor, length })));
    }
    const found: HostArray[] = [];
    for (const tensor of tensors) found.push(await device.read(tensor, 0, length));
    return () => Promise.resolve(found);
  }

  async #sampleBatch(
    batch: SamplingBatch,
    all: readonly SampledRow[],
    scored: Tensor,
    columns: SampledColumns,
    seen: Tensor | null,
    place: number,
  ): Promise<void> {
    const afterHost = await this.#adjustOnHost(batch, all, scored);
    const logits = this.#adjust(batch, all, afterHost, columns, seen) ?? afterHost;
    const scores = logits === scored ? { logits } : { logits, scored };
    this.#runSample(batch.params, scores, columns.counters, batch.rows.length, place);
  }

  /** Runs the operation that samples `rows` tokens and writes them from element `place` on. */
  #runSample(
    { temperature, topK, topP, minP }: SamplingParams,
    scores: { logits: Tensor; scored?: Tensor },
    counters: Tensor,
    rows: number,
    place: number,
  ): void {
    const { device, config: { vocabSize: vocab } } = this.network, room = padded(rows);
    device.run("sample", {
      ...scores,
      counters,
      tokens: this.#tokens.view(place, room),
      logp: this.#logp.view(place, room),
      rows,
      vocab,
      temperature,
      topK,
      topP,
      minP,
    });
  }

  /** The logits after the batch's function on the host; the same tensor without such a function. */
  async #adjustOnHost(
    { params: { adjust }, rows }: SamplingBatch,
    all: readonly SampledRow[],
    logits: Tensor,
  ): Promise<Tensor> {
    if (!adjust) return logits;
    const { network: { device, config: { vocabSize: vocab } }, workspace } = this;
    const values = await device.read(logits, 0, rows.length * vocab) as Float32Array | Float64Array;
    rows.forEach((row, r) => {
      adjust(all[row]!.completion.ids, values.subarray(r * vocab, (r + 1) * vocab));
    });
    const out = workspace.get("logits.host", this.slots * vocab);
    device.write(out, values);
    return out;
  }

  /**
   * The logits after the repetition penalty and without tokens that are forbidden or not allowed;
   * null when they do not change.
   */
  #adjust(
    { params: { penalty, ends, constraint }, forbidsEnds, rows: inBatch }: SamplingBatch,
    all: readonly SampledRow[],
    logits: Tensor,
    { slots, fed }: SampledColumns,
    seen: Tensor | null,
  ): Tensor | null {
    const { network: { device, config: { vocabSize: vocab } }, workspace } = this;
    const args: Partial<AdjustLogitsArgs> = {}, rows = inBatch.length;
    if (penalty !== 1 && seen !== null) {
      Object.assign(args, { seen, slots }, fed === null ? {} : { newest: fed });
    }
    const forbiddenCount = forbidsEnds ? ends.length : 0;
    if (forbiddenCount > 0) args.forbidden = workspace.upload("decode.forbidden", ends);
    if (constraint !== null) {
      const width = seenWords(vocab), sets = new Uint32Array(rows * width);
      inBatch.forEach((row, r) => sets.set(all[row]!.form!.allowed, r * width));
      args.allowed = workspace.get("decode.allowed", this.slots * width, "u32");
      device.write(args.allowed, sets);
    }
    if (Object.keys(args).length === 0) return null;
    const out = workspace.get("logits.adjusted", this.slots * vocab);
    device.run("adjust_logits", { logits, out, rows, vocab, penalty, forbiddenCount, ...args });
    return out;
  }
}

/** The set of a prompt's tokens as a bit set (kernels/ops/adjust_logits/spec.ts). */
export function tokenSet(ids: readonly number[], vocabSize: number): Uint32Array {
  const set = new Uint32Array(seenWords(vocabSize));
  for (const id of ids) set[id >>> 5]! |= 1 << (id & 31);
  return set;
}
