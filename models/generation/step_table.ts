/**
 * The table that the host writes before every decode step. It holds everything that the step needs
 * from the host, in one write to the same place in device memory.
 */
import { sampleCounter } from "../../core/philox.ts";
import { BRANCH } from "../../kernels/ops/attention_decode/spec.ts";
import { COUNTER_WORDS } from "../../kernels/ops/sample/spec.ts";
import { DELTA_SEGMENT } from "../../kernels/ops/delta_rule/spec.ts";
import { NO_ROW } from "../../kernels/ops/short_conv/spec.ts";
import type { Tensor } from "../../kernels/tensor.ts";
import type { PromptRows, RowRange } from "./cache/cached_prompt.ts";
import type { SampledRow } from "./sampling/decode_sampler.ts";
import { layerWindows } from "../architectures/mod.ts";
import type { Network } from "../network/weights/model_weights.ts";
import type { Workspace } from "../network/workspace.ts";

/** A branch as a decode step sees it. */
export interface DecodeRow extends SampledRow {
  /** Rows of the branch cache that hold its keys and values; null before it has a slot. */
  cached: RowRange | null;
  /** Rows of the prompt cache that hold its prompt. */
  prompt: PromptRows;
  /** Rows of the activation store for its tokens; null = they are not kept. */
  kept: RowRange | null;
}

/** Elements that a row has in each column of a step of `network`. */
function columnWidths({ config: { convTaps: taps = 1, delta } }: Network) {
  return {
    tokens: 1,
    positions: 1,
    cacheRow: 1,
    counters: COUNTER_WORDS,
    slots: 1,
    keptRow: 1,
    /** Where a row's own gated input goes in the tables of convolutions (kv_cache.ts). */
    convRow: 1,
    /** Rows of these tables with the positions before. */
    convBefore: taps - 1,
    /** From which state a delta rule goes on, and where that of the branch is. */
    segments: delta === undefined ? 0 : DELTA_SEGMENT.columns,
  };
}

type Column = keyof ReturnType<typeof columnWidths>;

/** The columns, u32 [stride, width]. */
export type StepColumns =
  & Readonly<Record<Column, Tensor>>
  & {
    /** For each of the layers' windows; [stride, BRANCH.columns]. */
    readonly branches: readonly Tensor[];
  };

/** For rows that only sample their first token. */
const NO_ROWS: RowRange = { begin: 0, end: 1 };

export class StepTable {
  readonly columns: StepColumns;
  readonly #words: Uint32Array;
  readonly #windows: readonly (number | null)[];
  readonly #tensor: Tensor;
  /** Where the columns begin, and the branch tables behind them. */
  readonly #at: Readonly<Record<Column | "branches", number>>;

  /**
   * @param stride maximum number of rows of a step, a multiple of VIEW_ALIGNMENT
   * @param cacheUnit rows of the branch cache that the table counts as one
   */
  constructor(
    private readonly network: Network,
    workspace: Workspace,
    private readonly stride: number,
    private readonly cacheUnit: number,
    private readonly promptRows: number,
    private readonly promptStates: number,
  ) {
    const windows = this.#windows = layerWindows(network.config), widths = columnWidths(network);
    const names = Object.keys(widths) as Column[];
    let width = 0;
    const begin = (columns: number) => {
      const from = width;
      width += columns;
      return from * stride;
    };
    const at = Object.fromEntries(names.map((name) => [name, begin(widths[name])]));
    this.#at = {
      ...at as Record<Column, number>,
      branches: begin(windows.length * BRANCH.columns),
    };
    this.#words = new Uint32Array(width * stride);
    const table = this.#tensor = workspace.get("decode.table", this.#words.length, "u32");
    const column = (from: number, columns: number) => table.view(from, columns * stride);
    this.columns = {
      ...Object.fromEntries(
        names.map((name) => [name, column(this.#at[name], widths[name])]),
      ) as Record<Column, Tensor>,
      branches: windows.map((_, i) =>
        column(this.#at.branches + i * BRANCH.columns * stride, BRANCH.columns)
      ),
    };
  }

  /**
   * Fills and writes the table for a step that comes `ahead` steps after the rows' positions. Rows
   * that have ended without the host knowing stay within their rows and the model's positions.
   * @returns the largest position
   */
  write(ahead: number, rows: readonly DecodeRow[]): number {
    const table = this.#words, { stride, cacheUnit, network: { config, device } } = this;
    const begins = this.#at;
    const lastPosition = config.maxPositions - 1, windows = this.#windows;
    const earlier = (config.convTaps ?? 1) - 1;
    let largest = 0;
    for (let row = 0; row < rows.length; row++) {
      const { promptId, branch, prompt, cached, kept, slot, newest, params } = rows[row]!;
      const { position: then, firstPosition } = rows[row]!;
      const { begin, end, sharedPrefix } = prompt;
      const { begin: from, end: to } = cached ?? NO_ROWS;
      const position = then + ahead;
      const fed = Math.max(0, position - 1); // index in its branch of the token that is fed
      const place = Math.min(end - begin + fed, lastPosition);
      if (place > largest) largest = place;
      table[begins.tokens + row] = newest;
      table[begins.positions + row] = place;
      table[begins.slots + row] = slot;
      table[begins.cacheRow + row] = Math.min(from + fed, to - 1);
      if (kept !== null) {
        table[begins.keptRow + row] = Math.min(kept.begin + fed, kept.end - 1);
      }
      // Assigned one by one: `set` from an array takes longer than the rest of a row.
      const counter = sampleCounter(promptId, branch, firstPosition + position);
      const counterAt = begins.counters + COUNTER_WORDS * row, { seed } = params;
      table[counterAt] = counter[0];
      table[counterAt + 1] = counter[1];
      table[counterAt + 2] = counter[2];
      table[counterAt + 3] = seed[0];
      table[counterAt + 4] = seed[1];
      if (config.delta !== undefined) {
        const own = this.promptStates + slot, first = prompt.state ?? 0;
        const at = begins.segments + DELTA_SEGMENT.columns * row;
        table[at + DELTA_SEGMENT.begin] = row;
        table[at + DELTA_SEGMENT.end] = row + 1;
        table[at + DELTA_SEGMENT.from] = fed === 0 ? first : own;
        table[at + DELTA_SEGMENT.to] = own;
        // The last positions take turns, in the prompt's state and in the branch's.
        const length = end - begin;
        table[begins.convRow + row] = own * earlier + place % earlier;
        for (let t = 1; t <= earlier; t++) {
          const at = place - t, state = at < length ? first : own;
          table[begins.convBefore + row * earlier + t - 1] = at < 0
            ? NO_ROW
            : state * earlier + at % earlier;
        }
      } else if (earlier > 0) {
        // The branch's last positions take turns; before them come the prompt's.
        const own = this.promptRows + slot * earlier;
        table[begins.convRow + row] = own + fed % earlier;
        for (let t = 1; t <= earlier; t++) {
          const at = fed - t, prompt = end + at;
          table[begins.convBefore + row * earlier + t - 1] = at >= 0
            ? own + at % earlier
            : prompt >= begin
            ? prompt
            : NO_ROW;
        }
      }
      for (let i = 0; i < windows.length; i++) {
        const at = begins.branches + BRANCH.columns * (i * stride + row);
        // A window covers the branch's own positions first and then the end of the prompt.
        const window = windows[i] ?? Infinity;
        table[at + BRANCH.prefixBegin] = Math.max(begin, end - Math.max(0, window - position));
        table[at + BRANCH.prefixEnd] = end;
        table[at + BRANCH.slot] = from / cacheUnit;
        table[at + BRANCH.length] = Math.min(position, to - from);
        table[at + BRANCH.sharedBegin] = sharedPrefix === null ? 0 : sharedPrefix.prompt.begin;
        table[at + BRANCH.sharedRows] = sharedPrefix === null ? 0 : sharedPrefix.rows;
      }
    }
    device.write(this.#tensor, table);
    return largest;
  }
}
