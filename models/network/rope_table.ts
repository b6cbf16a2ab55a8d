/**
 * Tables of cos and sin for rotary position embedding, [rows, headDim/2]: angle = position·θ_j
 * (architectures/rope_frequencies.ts), times the factor of the scaling, if it has one. Angles are
 * computed in float64 on the host; in float32 they would be wrong by 1e−3 rad at position 32 767.
 *
 * Where the frequencies depend on the length of the text (dynamic and longrope scaling), that of a
 * token is the length that transformers sees in the pass that computes the token's key. A prompt
 * is one pass: all its tokens have the prompt's length. A token of a completion is a pass: its
 * length is its position + 1. So a sequence has the same frequencies in generation and in training
 * and does not depend on the rest of its batch. Up to the original length all are the same.
 */
import type { Device } from "../../kernels/device.ts";
import type { Tensor } from "../../kernels/tensor.ts";
import type { ModelConfig } from "../architectures/model_config.ts";
import {
  dependsOnLength,
  frequencyLength,
  ropeFrequencies,
} from "../architectures/rope_frequencies.ts";
import { attentionFactor } from "../architectures/rope_scaling.ts";
import { toDevicePrecision, type Workspace } from "./workspace.ts";

const FIRST_CAPACITY = 256;

/** Arguments of `rope` for a batch. */
export interface RowAngles {
  cos: Tensor; // [table rows, headDim/2]
  sin: Tensor; // [table rows, headDim/2]
  /** Row of the tables for each row of the batch. */
  positions: Tensor; // u32 [rows]
}

/** What the angles of a batch depend on. */
export interface AngleRows {
  positions: Uint32Array; // [rows]
  /** Tokens of the text in whose pass each row is computed. */
  lengths: Uint32Array; // [rows]
  maxPosition: number;
}

export class RopeTable {
  #tables: { cos: Tensor; sin: Tensor; positions: number } | null = null;

  constructor(readonly device: Device, readonly config: ModelConfig) {}

  /**
   * A function that gives the angles of a batch, for every use of them: the tables may grow between
   * the forward and the backward.
   * @param positions the batch's positions on the device
   */
  ofBatch(batch: AngleRows, positions: Tensor, workspace: Workspace): () => RowAngles {
    if (!this.#hasOwnAngles(batch)) {
      return () => ({ ...this.upTo(batch.maxPosition), positions });
    }
    // Prompts beyond the original length have frequencies of their own: a table with their rows.
    const rows = batch.positions.length, half = this.config.headDim / 2;
    const { cos, sin } = this.#angles(
      rows,
      (row) => batch.positions[row]!,
      (row) => batch.lengths[row]!,
    );
    const angles = {
      cos: workspace.get("rope.cos", rows * half),
      sin: workspace.get("rope.sin", rows * half),
      positions: workspace.upload("rope.rows", Uint32Array.from({ length: rows }, (_, i) => i)),
    };
    this.device.write(angles.cos, toDevicePrecision(this.device, cos));
    this.device.write(angles.sin, toDevicePrecision(this.device, sin));
    return () => angles;
  }

  /** Whether a row has other frequencies than its position has in a completion. */
  #hasOwnAngles({ positions, lengths }: AngleRows): boolean {
    const { ropeScaling: scaling } = this.config;
    return dependsOnLength(scaling) &&
      lengths.some((length, row) =>
        frequencyLength(scaling, length) !== frequencyLength(scaling, positions[row]! + 1)
      );
  }

  /**
   * Tables for positions 0 … maxPosition of completions, and of texts up to the original length.
   * They grow by doubling up to the model's number of positions.
   */
  upTo(maxPosition: number): { cos: Tensor; sin: Tensor } {
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
    return { cos: upload(cos, "rope.cos"), sin: upload(sin, "rope.sin"), positions };
  }

  /** cos and sin of rows with these positions, in texts of these lengths: [rows, headDim/2]. */
  #angles(
    rows: number,
    positionOf: (row: number) => number,
    lengthOf: (row: number) => number,
  ): { cos: Float64Array; sin: Float64Array } {
    const { config } = this,
      half = config.headDim / 2,
      factor = attentionFactor(config.ropeScaling);
    const cos = new Float64Array(rows * half), sin = new Float64Array(rows * half);
    let length = 0, frequencies = ropeFrequencies(config);
    for (let row = 0; row < rows; row++) {
      const position = positionOf(row), next = frequencyLength(config.ropeScaling, lengthOf(row));
      if (next !== length) frequencies = ropeFrequencies(config, length = next);
      for (let j = 0; j < half; j++) {
        const angle = position * frequencies[j]!;
        cos[row * half + j] = factor * Math.cos(angle);
        sin[row * half + j] = factor * Math.sin(angle);
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
