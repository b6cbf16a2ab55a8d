/**
 * Calls to tune a card with where no run says which: operations of a model of 0.5 billion
 * parameters in training and decoding; tiny ones for a software adapter.
 */
import type { Device } from "../device.ts";
import { SEGMENT } from "../ops/attention/spec.ts";
import { BRANCH } from "../ops/attention_decode/spec.ts";
import type { RecordedCall } from "../ops/common/recorded_call.ts";
import type { Tensor } from "../tensor.ts";

interface Sizes {
  /** Width, intermediate width, heads. */
  d: number;
  inner: number;
  heads: number;
  kvHeads: number;
  headDim: number;
  /** Groups in training: a prompt, and two branches of half its length. */
  groups: number;
  prompt: number;
  /** Numbers of branches in decoding. */
  branches: readonly number[];
}

const CARD: Sizes = {
  d: 896,
  inner: 4864,
  heads: 14,
  kvHeads: 2,
  headDim: 64,
  groups: 4,
  prompt: 512,
  branches: [1, 16, 64],
};

const SOFTWARE: Sizes = {
  d: 96,
  inner: 512,
  heads: 4,
  kvHeads: 2,
  headDim: 24,
  groups: 2,
  prompt: 32,
  branches: [1, 8],
};

/** Rank of an adapter. */
const RANK = 16;

type Rehearsing = Device & Required<Pick<Device, "rehearse">>;

/** Makes the tensors of one call: floats of a length, or words. */
interface Make {
  floats(length: number): Tensor;
  words(words: Uint32Array): Tensor;
}

export async function sampleCalls(device: Rehearsing, software: boolean): Promise<RecordedCall[]> {
  const sizes = software ? SOFTWARE : CARD;
  const withTensors = (work: (make: Make) => void) => {
    const made: Tensor[] = [];
    const keep = (tensor: Tensor) => (made.push(tensor), tensor);
    work({
      floats: (length) => keep(device.create("float", length, "sample")),
      words: (words) => {
        const tensor = keep(device.create("u32", words.length, "sample"));
        device.write(tensor, words);
        return tensor;
      },
    });
    for (const tensor of made) device.free(tensor);
  };
  return await device.rehearse(() => {
    products(device, sizes, withTensors);
    withTensors((make) => attention(device, sizes, make));
    for (const count of sizes.branches) {
      withTensors((make) => decoding(device, sizes, count, make));
    }
    return Promise.resolve();
  });
}

/** Rows of a training batch. */
const rowsOf = ({ groups, prompt }: Sizes) => 2 * groups * prompt;

function products(
  device: Device,
  sizes: Sizes,
  withTensors: (work: (make: Make) => void) => void,
): void {
  const { d, inner, branches } = sizes, rows = rowsOf(sizes);
  const product = (m: number, n: number, k: number, flags: object = {}) =>
    withTensors(({ floats }) => {
      const [a, b, out] = [floats(m * k), floats(k * n), floats(m * n)];
      device.run("matmul", { a, b, out, m, n, k, ...flags });
    });
  for (const [n, k] of [[d, d], [inner, d], [d, inner]] as const) {
    for (const m of [rows, ...branches]) product(m, n, k, { transB: true });
    product(rows, k, n);
    product(n, k, rows, { transA: true, accumulate: true });
  }
  // An adapter: its products, and their gradients.
  product(rows, RANK, d, { transB: true });
  product(RANK, d, rows, { transA: true, accumulate: true });
  product(inner, RANK, rows, { transA: true, accumulate: true });
}

/** A prompt with two branches, again and again. */
function attention(device: Device, sizes: Sizes, { floats, words }: Make): void {
  const { heads, kvHeads, headDim, groups, prompt } = sizes, rows = rowsOf(sizes);
  const segments: number[] = [], rowSegment = new Uint32Array(rows);
  for (let group = 0; group < groups; group++) {
    const begin = 2 * prompt * group, middle = begin + prompt, end = begin + 2 * prompt;
    const half = middle + prompt / 2;
    for (const [from, to] of [[begin, middle], [middle, half], [half, end]] as const) {
      rowSegment.fill(segments.length / SEGMENT.columns, from, to);
      const prefix = from === begin ? [begin, begin, end] : [begin, middle, to];
      segments.push(from, to, ...prefix);
    }
  }
  const width = rows * heads * headDim, keyWidth = rows * kvHeads * headDim;
  const args = {
    q: floats(width),
    k: floats(keyWidth),
    v: floats(keyWidth),
    out: floats(width),
    lse: floats(rows * heads),
    segments: words(Uint32Array.from(segments)),
    rowSegment: words(rowSegment),
    segmentCount: segments.length / SEGMENT.columns,
    rows,
    heads,
    kvHeads,
    headDim,
    scale: headDim ** -0.5,
  };
  device.run("attention", args);
  device.run("attention_backward", {
    ...args,
    dout: floats(width),
    dq: floats(width),
    dk: floats(keyWidth),
    dv: floats(keyWidth),
  });
}

/** Attention of `count` branches of one prompt. */
function decoding(device: Device, sizes: Sizes, count: number, { floats, words }: Make): void {
  const { heads, kvHeads, headDim, prompt } = sizes, maxNew = prompt / 2;
  const branches = new Uint32Array(count * BRANCH.columns), row = kvHeads * headDim;
  for (let b = 0; b < count; b++) {
    branches.set([0, prompt, b, maxNew], b * BRANCH.columns);
  }
  device.run("attention_decode", {
    q: floats(count * heads * headDim),
    prefixK: floats(prompt * row),
    prefixV: floats(prompt * row),
    branchK: floats(count * maxNew * row),
    branchV: floats(count * maxNew * row),
    out: floats(count * heads * headDim),
    branches: words(branches),
    count,
    maxNew,
    heads,
    kvHeads,
    headDim,
    scale: headDim ** -0.5,
  });
}
