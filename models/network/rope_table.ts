/**
 * Tables of cos and sin for rotary position embedding, [rows, rotaryDim/2]: angle = position·θ_j
 * (architectures/rope_frequencies.ts), times the factor of the scaling, if it has one. Angles are
 * computed in float64 on the host; in float32 they would be wrong by 1e−3 rad at position 32 767.
 * Layers may rotate in different ways, and queries that grow with the position have tables of their
 * own, which include the growth; so a model has up to four tables.
 *
 * Where the frequencies depend on the length of the text (dynamic and longrope scaling), that of a
 * token is the length that transformers sees in the pass that computes the token's key. A prompt
 * is one pass: all its tokens have the prompt's length. A token of a completion is a pass: its
 * length is its position + 1. So a sequence has the same frequencies in generation and in training
 * and does not depend on the rest of its batch. Up to the original length all are the same.
 */
import type { Device } from "../../kernels/device.ts";
import type { Tensor } from "../../kernels/tensor.ts";
import { layerRope, type ModelConfig, ropesOf } from "../architectures/model_config.ts";
import { architectureOf } from "../architectures/mod.ts";
import {
  dependsOnLength,
  frequencyLength,
  type RopeConfig,
  ropeFrequencies,
} from "../architectures/rope_frequencies.ts";
import { attentionFactor } from "../architectures/rope_scaling.ts";
import { toDevicePrecision, type Workspace } from "./workspace.ts";

const FIRST_CAPACITY = 256;

/** Arguments of `rope` for a batch. */
export interface RowAngles {
  cos: Tensor; // [table rows, rotaryDim/2]
  sin: Tensor; // [table rows, rotaryDim/2]
  /** Row of the tables for each row of the batch. */
  positions: Tensor; // u32 [rows]
  /** Elements of a head that are rotated. */
  rotaryDim: number;
}

/** The angles of a layer's queries and of its keys. */
export interface LayerAngles {
  q: RowAngles;
  k: RowAngles;
}

/** Gives the angles of a layer; null where it rotates nothing. */
export type AnglesOf = (layer: number) => LayerAngles | null;

export interface AngleRows {
  positions: Uint32Array; // [rows]
  /** Tokens of the text in whose pass each row is computed. */
  lengths: Uint32Array; // [rows]
  maxPosition: number;
}

export class RopeTables {
  /** For each rotation the table of queries and the one of keys, which may be the same. */
  readonly #tables: readonly { q: RopeTable; k: RopeTable }[];

  constructor(device: Device, private readonly config: ModelConfig) {
    const { maxPositions, growingQueries: grow } = config;
    const ropes = architectureOf(config).positions === "rotary" ? ropesOf(config) : [];
    this.#tables = ropes.map((rope, i) => {
      const name = i === 0 ? "rope" : "rope.sliding";
      const k = new RopeTable(device, { ...rope, maxPositions }, name);
      if (grow === undefined) return { q: k, k };
      return { q: new RopeTable(device, { ...rope, maxPositions, grow }, `${name}.q`), k };
    });
  }

  /** The angles of a batch, also when the tables grow meanwhile. @param positions on the device */
  ofBatch(batch: AngleRows, positions: Tensor, workspace: Workspace): AnglesOf {
    return this.#byLayer((table) => table.ofBatch(batch, positions, workspace));
  }

  /** The angles of completions up to a position. */
  upTo(maxPosition: number, positions: Tensor): AnglesOf {
    return this.#byLayer((table) => () => table.upTo(maxPosition, positions));
  }

  /** The tensors of the tables for positions up to `maxPosition`: they change when they grow. */
  tensors(maxPosition: number): Tensor[] {
    const tables = new Set(this.#tables.flatMap(({ q, k }) => [q, k]));
    return [...tables].flatMap((table) => {
      const { cos, sin } = table.grown(maxPosition);
      return [cos, sin];
    });
  }

  #byLayer(of: (table: RopeTable) => () => RowAngles): AnglesOf {
    const angles = this.#tables.map(({ q, k }) => {
      const ofK = of(k);
      return { q: q === k ? ofK : of(q), k: ofK };
    });
    return (layer) => {
      const number = angles.length === 0 ? null : layerRope(this.config, layer);
      return number === null ? null : { q: angles[number]!.q(), k: angles[number]!.k() };
    };
  }

  dispose(): void {
    for (const { q, k } of this.#tables) {
      q.dispose();
      k.dispose();
    }
  }
}

interface TableConfig extends RopeConfig {
  maxPositions: number;
  /** Factor of cos and sin by position. */
  grow?: ModelConfig["growingQueries"];
}

class RopeTable {
  #tables: { cos: Tensor; sin: Tensor; positions: number } | null = null;

  /** @param name that of its tensors */
  constructor(
    readonly device: Device,
    readonly config: TableConfig,
    private readonly name: string,
  ) {}

  ofBatch(batch: AngleRows, positions: Tensor, workspace: Workspace): () => RowAngles {
    const { name, config: { headDim: rotaryDim, ropeScaling } } = this;
    if (!dependsOnLength(ropeScaling)) return () => this.upTo(batch.maxPosition, positions);
    // Prompts beyond the original length have frequencies of their own: a table with their rows.
    // Its room is taken for all, as memory is planned with short ones.
    const rows = batch.positions.length, half = rotaryDim / 2;
    const angles = {
      cos: workspace.get(`${name}.cos`, rows * half),
      sin: workspace.get(`${name}.sin`, rows * half),
      positions: workspace.upload("rope.rows", Uint32Array.from({ length: rows }, (_, i) => i)),
      rotaryDim,
    };
    if (!this.#hasOwnAngles(batch)) return () => this.upTo(batch.maxPosition, positions);
    const { cos, sin } = this.#angles(
      rows,
      (row) => batch.positions[row]!,
      (row) => batch.lengths[row]!,
    );
    this.device.write(angles.cos, toDevicePrecision(this.device, cos));
    this.device.write(angles.sin, toDevicePrecision(this.device, sin));
    return () => angles;
  }

  /** Whether a row has other frequencies than its position has in a completion. */
  #hasOwnAngles({ positions, lengths }: AngleRows): boolean {
    const { ropeScaling: scaling } = this.config;
    return lengths.some((length, row) =>
      frequencyLength(scaling, length) !== frequencyLength(scaling, positions[row]! + 1)
    );
  }

  /** Tables for positions up to maxPosition, which grow by doubling up to the model's number. */
  upTo(maxPosition: number, positions: Tensor): RowAngles {
    const { cos, sin } = this.grown(maxPosition);
    return { cos, sin, positions, rotaryDim: this.config.headDim };
  }

  grown(maxPosition: number): { cos: Tensor; sin: Tensor } {
    if (this.#tables === null || this.#tables.positions <= maxPosition) {
      let positions = FIRST_CAPACITY;
      while (positions <= maxPosition) positions *= 2;
      positions = Math.max(maxPosition + 1, Math.min(positions, this.config.maxPositions));
      this.dispose();
      this.#tables = this.#build(positions);
    }
    return this.#tables;
  }

  #build(positions: number): { cos: Tensor; sin: Tensor; positions: number } {
    const { cos, sin } = this.#angles(positions, (row) => row, (row) => row + 1);
    const upload = (data: Float64Array, label: string) => {
      const tensor = this.device.create("float", data.length, label);
      this.device.write(tensor, toDevicePrecision(this.device, data));
      return tensor;
    };
    const { name } = this;
    return { cos: upload(cos, `${name}.cos`), sin: upload(sin, `${name}.sin`), positions };
  }

  /** cos and sin of rows with these positions, in texts of these lengths: [rows, rotaryDim/2]. */
  #angles(
    rows: number,
    positionOf: (row: number) => number,
    lengthOf: (row: number) => number,
  ): { cos: Float64Array; sin: Float64Array } {
    const { config } = this,
      half = config.headDim / 2,
      factor = attentionFactor(config.ropeScaling),
      { beta, period } = config.grow ?? { beta: 0, period: 1 };
    const cos = new Float64Array(rows * half), sin = new Float64Array(rows * half);
    let length = 0, frequencies = ropeFrequencies(config);
    for (let row = 0; row < rows; row++) {
      const position = positionOf(row), next = frequencyLength(config.ropeScaling, lengthOf(row));
      if (next !== length) frequencies = ropeFrequencies(config, length = next);
      const growth = factor * (1 + beta * Math.log1p(Math.floor(position / period)));
      for (let j = 0; j < half; j++) {
        const angle = position * frequencies[j]!;
        cos[row * half + j] = growth * Math.cos(angle);
        sin[row * half + j] = growth * Math.sin(angle);
      }
    }
    return { cos, sin };
  }

  dispose(): void {
    if (this.#tables === null) return;
    this.device.free(this.#tables.cos);
    this.device.free(this.#tables.sin);
    this.#tables = null;
  }
}
