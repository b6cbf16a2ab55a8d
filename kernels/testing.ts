/**
 * Helpers for tests of kernels and models: reproducible data, tensors from host arrays, comparisons
 * with an error bound for every element.
 */
import assert from "node:assert/strict";
import { RandomStream } from "../core/philox.ts";
import type { Device } from "./device.ts";
import type { DType, HostArray, Tensor } from "./tensor.ts";

/** The random stream of a name: the same data on every run and machine. */
export function stream(name: string): RandomStream {
  return RandomStream.forPurpose(20_240_601, "init", name);
}

/** `n` standard normal numbers times `scale`, exact in f32. */
export function normals(random: RandomStream, n: number, scale = 1): Float32Array {
  const values = new Float32Array(n);
  for (let i = 0; i < n; i++) values[i] = scale * random.normal(); // faster than Float32Array.from
  return values;
}

/** `n` NaNs, for outputs that an operation must overwrite. */
export function junk(n: number): Float32Array {
  return new Float32Array(n).fill(NaN);
}

export function zeros(n: number): Float32Array {
  return new Float32Array(n);
}

export function dtypeOf(data: HostArray): DType {
  return data instanceof Uint32Array ? "u32" : "float";
}

/** A new tensor that contains `data`. */
export function upload(device: Device, data: HostArray, label = "test"): Tensor {
  const tensor = device.create(dtypeOf(data), data.length, label);
  device.write(tensor, data);
  return tensor;
}

/** The largest magnitude; 0 for an empty array. */
export function largest(data: ArrayLike<number>): number {
  let max = 0;
  for (let i = 0; i < data.length; i++) max = Math.max(max, Math.abs(data[i]!));
  return max;
}

/** Asserts |found − expected| ≤ bound for all elements; reports the worst. NaN never passes. */
export function assertWithin(
  found: ArrayLike<number>,
  expected: ArrayLike<number>,
  bound: number | ArrayLike<number>,
  what: string,
): void {
  assert.equal(found.length, expected.length, `${what}: length`);
  let worst = -1, excess = 0;
  for (let i = 0; i < found.length; i++) {
    const error = Math.abs(found[i]! - expected[i]!);
    const limit = typeof bound === "number" ? bound : bound[i]!;
    if (error <= limit || found[i] === expected[i]) continue; // ===: for equal infinities
    const over = Number.isNaN(error) ? Infinity : error / limit;
    if (over > excess || worst < 0) {
      worst = i;
      excess = over;
    }
  }
  if (worst < 0) return;
  const limit = typeof bound === "number" ? bound : bound[worst]!;
  assert.fail(
    `${what}: element ${worst} of ${found.length} is ${found[worst]}, expected ` +
      `${expected[worst]} ± ${limit}`,
  );
}

/** Whether the bytes of two arrays are equal. (NaN equals itself, and −0 does not equal 0.) */
export function sameBits(a: HostArray, b: HostArray): boolean {
  if (a.constructor !== b.constructor || a.length !== b.length) return false;
  const x = new Uint8Array(a.buffer, a.byteOffset, a.byteLength);
  const y = new Uint8Array(b.buffer, b.byteOffset, b.byteLength);
  for (let i = 0; i < x.length; i++) if (x[i] !== y[i]) return false;
  return true;
}

/** Segment table and rows of a packed batch (kernels/ops/attention/spec.ts). */
export interface Layout {
  rows: number;
  segmentCount: number;
  segments: Uint32Array; // [segmentCount, SEGMENT.columns]
  rowSegment: Uint32Array; // [rows]
  /** Position of every row in its sequence. */
  positions: Uint32Array; // [rows]
}

/** Packs groups into a layout. @param groups [prompt length, branch lengths] */
export function packLengths(groups: readonly (readonly [number, readonly number[]])[]): Layout {
  const segments: number[] = [], rowSegment: number[] = [], positions: number[] = [];
  let rows = 0, segmentCount = 0;
  const addRows = (count: number, firstPosition: number) => {
    for (let i = 0; i < count; i++) {
      rowSegment.push(segmentCount);
      positions.push(firstPosition + i);
    }
    rows += count;
    segmentCount++;
  };
  for (const [promptLength, branches] of groups) {
    const prompt = rows;
    const groupEnd = branches.reduce((sum, n) => sum + n, prompt + promptLength);
    segments.push(prompt, prompt + promptLength, prompt, prompt, groupEnd);
    addRows(promptLength, 0);
    for (const length of branches) {
      segments.push(rows, rows + length, prompt, prompt + promptLength, rows + length);
      addRows(length, promptLength);
    }
  }
  return {
    rows,
    segmentCount,
    segments: Uint32Array.from(segments),
    rowSegment: Uint32Array.from(rowSegment),
    positions: Uint32Array.from(positions),
  };
}
