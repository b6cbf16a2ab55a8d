/**
 * The end of a decoding step: the head for all rows, then a token for each. Rows with the same rules are one
 * operation; a batch with several kinds of rules is sampled lane by lane from copies of its logits, so what a row
 * draws never depends on its neighbours' rules. Tokens and log-probabilities of the steps since the host's last
 * look stay on the device.
 */
import { sampleCounter } from "../../core/philox.ts";
import { type AdjustLogitsArgs, seenWords } from "../../kernels/ops/adjust_logits/spec.ts";
import { type Tensor, VIEW_ALIGNMENT } from "../../kernels/tensor.ts";
import { headOperand } from "../network/linear.ts";
import type { Network } from "../network/forward_pass.ts";
import type { Lane, SamplingRules } from "./sampling_params.ts";
import type { Workspace } from "../network/workspace.ts";

/** What sampling needs to know of a row. */
export interface SampledRow {
  promptId: number;
  /** Number of the branch within its prompt, for its random draws. */
  branch: number;
  /** Number of the token that is drawn. */
  position: number;
  /** Its row in the sets of seen tokens. */
  slot: number;
  /** The token before, which the last look has shown. */
  newest: number;
  /** Tokens so far, as the last look has shown. */
  completion: { readonly ids: readonly number[] };
  rules: SamplingRules;
}

/** Rows of a step in device memory, as {@link DecodeSampler.sample} reads them. */
export interface SampledColumns {
  counters: Tensor; // u32 [rows, 3]
  /** Row of the set of seen tokens. */
  slots: Tensor; // u32 [rows]
  /** Tokens of the step before, or null when there are none. */
  fed: Tensor | null; // u32 [rows]
}

/** Tokens and log-probabilities since the last look. */
export interface Sampled {
  tokens: Uint32Array;
  logprobs: Float32Array | Float64Array;
  /** Element of row `row` of step `step`. */
  at: (step: number, row: number) => number;
}

/** Columns of a lane's table, in multiples of its rows rounded up. */
const LANE = { row: 0, counters: 1, slots: 4, newest: 5, columns: 6 } as const;

function aligned(rows: number): number {
  return Math.ceil(rows / VIEW_ALIGNMENT) * VIEW_ALIGNMENT;
}

/** Elements of the histories of tokens and of log-probabilities. */
function historyLength(slots: number, stepsPerRead: number): number {
  return Math.max(aligned(slots) * stepsPerRead, VIEW_ALIGNMENT * slots);
}

export class DecodeSampler {
  /** Rows reserved per step in histories and step tables. */
  readonly stride: number;
  readonly #tokens: Tensor; // u32 [steps, stride], or lane after lane
  readonly #logp: Tensor;
  /** Where each row of the last step stands, when it had several lanes. */
  #places: Uint32Array | null = null;
  #end = 0;

  constructor(
    private readonly core: Network,
    private readonly workspace: Workspace,
    private readonly slots: number,
    stepsPerRead: number,
  ) {
    this.stride = aligned(slots);
    const length = historyLength(slots, stepsPerRead);
    this.#tokens = workspace.get("decode.tokens", length, "u32");
    this.#logp = workspace.get("decode.logp", length);
  }

  /** Tokens that step `step` since the last look drew, row by row: valid when it had one lane. */
  tokensOf(step: number): Tensor {
    return this.#tokens.view(step * this.stride, this.stride);
  }

  /** Logits of rows of the final norm's output `normed` [count, d]: an operation. */
  score(normed: Tensor, count: number): Tensor {
    const { core: { device, config, weights }, workspace } = this, vocab = config.vocabSize;
    const logits = workspace.get("logits", this.slots * vocab);
    device.run("matmul", {
      a: normed,
      ...headOperand(weights.head, weights.packedHead),
      out: logits,
      m: count,
      n: vocab,
      k: config.hiddenSize,
    });
    return logits;
  }

  /** The rules by which all rows draw from their logits as they are; null where there is more to it. */
  plainRules([lane, ...more]: readonly Lane[]): SamplingRules | null {
    if (lane === undefined || more.length > 0 || lane.forbids) return null;
    return lane.rules.adjust === null && lane.rules.penalty === 1 ? lane.rules : null;
  }

  /** Draws by plain rules: an operation. `drawn` says when it has been run. */
  drawPlain(
    step: number,
    rules: SamplingRules,
    logits: Tensor,
    { counters }: Pick<SampledColumns, "counters">,
    count: number,
  ): void {
    this.#run(rules, { logits }, counters, count, step * this.stride);
  }

  /** Tokens of `count` rows have been drawn as step `step` since the last look. */
  drawn(step: number, count: number): void {
    this.#places = null;
    this.#end = step * this.stride + count;
  }

  /**
   * Draws a token for each row of `logits`, as step `step` since the last look. With several lanes, or rules of the
   * host, there must be a look before and after every step.
   * @param seen sets of seen tokens, for rules with a penalty
   */
  async sample(
    step: number,
    rows: readonly SampledRow[],
    lanes: readonly Lane[],
    logits: Tensor,
    columns: SampledColumns,
    seen: Tensor | null,
  ): Promise<void> {
    const { core: { device, config: { vocabSize: vocab } }, workspace } = this;
    const count = rows.length;
    if (lanes.length === 1) {
      await this.#draw(lanes[0]!, rows, logits, columns, seen, step * this.stride);
      this.drawn(step, count);
      return;
    }
    const places = this.#places = new Uint32Array(count);
    let place = 0;
    for (const lane of lanes) {
      const room = aligned(lane.rows.length), table = new Uint32Array(LANE.columns * room);
      lane.rows.forEach((row, r) => {
        const { promptId, branch, position, slot, newest } = rows[row]!;
        places[row] = place + r;
        table[LANE.row * room + r] = row;
        table.set(sampleCounter(promptId, branch, position), LANE.counters * room + 3 * r);
        table[LANE.slots * room + r] = slot;
        table[LANE.newest * room + r] = newest;
      });
      const words = workspace.upload("decode.lane", table);
      const column = (from: number, width: number) => words.view(from * room, width * room);
      const own = workspace.get("logits.lane", this.slots * vocab);
      device.run("gather_rows", {
        table: logits,
        index: column(LANE.row, 1),
        out: own,
        rows: lane.rows.length,
        d: vocab,
      });
      await this.#draw(
        lane,
        rows,
        own,
        {
          counters: column(LANE.counters, 3),
          slots: column(LANE.slots, 1),
          fed: columns.fed === null ? null : column(LANE.newest, 1),
        },
        seen,
        place,
      );
      this.#end = place + lane.rows.length;
      place += room;
    }
  }

  /** Waits for what has been drawn since the last look. */
  async read(): Promise<Sampled> {
    const { device } = this.core, { stride } = this, places = this.#places;
    const tokens = await device.read(this.#tokens, 0, this.#end) as Uint32Array;
    const logprobs = await device.read(this.#logp, 0, this.#end) as Float32Array | Float64Array;
    const at = (step: number, row: number) => places === null ? step * stride + row : places[row]!;
    return { tokens, logprobs, at };
  }

  async #draw(
    lane: Lane,
    all: readonly SampledRow[],
    scored: Tensor,
    columns: SampledColumns,
    seen: Tensor | null,
    place: number,
  ): Promise<void> {
    const given = await this.#adjustOnHost(lane, all, scored);
    const logits = this.#adjust(lane, given, columns, seen) ?? given;
    const scores = logits === scored ? { logits } : { logits, scored };
    this.#run(lane.rules, scores, columns.counters, lane.rows.length, place);
  }

  /** The operation that draws `rows` tokens, to `place` on. */
  #run(
    { temperature, topK, topP, minP, seed }: SamplingRules,
    scores: { logits: Tensor; scored?: Tensor },
    counters: Tensor,
    rows: number,
    place: number,
  ): void {
    const { device, config: { vocabSize: vocab } } = this.core, room = aligned(rows);
    device.run("sample", {
      ...scores,
      counters,
      tokens: this.#tokens.view(place, room),
      logp: this.#logp.view(place, room),
      rows,
      vocab,
      seedLow: seed[0],
      seedHigh: seed[1],
      ...{ temperature, topK, topP, minP },
    });
  }

  /** The logits as the lane's function on the host has changed them; themselves without one. */
  async #adjustOnHost(
    { rules: { adjust }, rows }: Lane,
    all: readonly SampledRow[],
    logits: Tensor,
  ): Promise<Tensor> {
    if (!adjust) return logits;
    const { core: { device, config: { vocabSize: vocab } }, workspace } = this;
    const values = await device.read(logits, 0, rows.length * vocab) as Float32Array | Float64Array;
    rows.forEach((row, r) => {
      adjust(all[row]!.completion.ids, values.subarray(r * vocab, (r + 1) * vocab));
    });
    const out = workspace.get("logits.host", this.slots * vocab);
    device.write(out, values);
    return out;
  }

  /** The logits to draw from where rules change them, else null. */
  #adjust(
    { rules: { penalty, ends }, forbids, rows: { length: rows } }: Lane,
    logits: Tensor,
    { slots, fed }: SampledColumns,
    seen: Tensor | null,
  ): Tensor | null {
    const { core: { device, config: { vocabSize: vocab } }, workspace } = this;
    const rules: Partial<AdjustLogitsArgs> = {};
    if (penalty !== 1 && seen !== null) {
      Object.assign(rules, { seen, slots }, fed === null ? {} : { newest: fed });
    }
    const forbiddenCount = forbids ? ends.length : 0;
    if (forbiddenCount > 0) rules.forbidden = workspace.upload("decode.forbidden", ends);
    if (Object.keys(rules).length === 0) return null;
    const out = workspace.get("logits.adjusted", this.slots * vocab);
    device.run("adjust_logits", { logits, out, rows, vocab, penalty, forbiddenCount, ...rules });
    return out;
  }
}

/** The set of a prompt's tokens (kernels/ops/adjust_logits/spec.ts). */
export function tokenSet(ids: readonly number[], vocabSize: number): Uint32Array {
  const set = new Uint32Array(seenWords(vocabSize));
  for (const id of ids) set[id >>> 5]! |= 1 << (id & 31);
  return set;
}
