/**
 * Speed of attention on the GPU, by shape and by tile:
 *
 *     deno run -A kernels/ops/attention/webgpu_bench.ts [--tiles] [part of a case's name]
 *
 * The shapes are those of training and decoding with Qwen2.5-0.5B and 1.5B and with small models;
 * on a software adapter tiny ones. `--tiles` also measures tiles that are not chosen;
 * RGX_ATTENTION_TILE=across,down,each adds one more. GFLOP/s counts 4 (forward, decode) or 10
 * (backward) · heads · headDim operations for each pair of a row and a row that it attends to.
 * RGX_DEBUG=2 prints the time of each kernel.
 */
import { BRANCH } from "../attention_decode/spec.ts";
import type { Tensor } from "../../tensor.ts";
import type { Ops } from "../ops.ts";
import { packLengths, upload } from "../../testing.ts";
import { createWebgpuDevice, type WebgpuDevice } from "../../devices/webgpu/device.ts";
import type { TileShape } from "./tiles.wgsl.ts";
import { SHAPES } from "./webgpu.ts";

/**
 * Groups of equal shape: their number, and the prompt length, branches and branch length of each.
 */
type Batch = readonly [groups: number, prompt: number, branches: number, length: number];
type Heads = readonly [heads: number, kvHeads: number, headDim: number];

const HALF_B: Heads = [14, 2, 64], LARGER: Heads = [12, 2, 128], SMALL: Heads = [8, 4, 16];

const CARD: readonly (readonly [Batch, Heads])[] = [
  [[4, 256, 8, 256], HALF_B],
  [[4, 256, 8, 256], LARGER],
  [[1, 2048, 0, 0], HALF_B],
  [[1, 1024, 64, 512], HALF_B],
  [[32, 40, 16, 20], SMALL],
];
const SOFTWARE: readonly (readonly [Batch, Heads])[] = [
  [[1, 64, 4, 32], [4, 2, 64]],
  [[1, 64, 4, 32], [2, 1, 128]],
  [[4, 16, 4, 10], SMALL],
];

const TILES: readonly TileShape[] = [
  [8, 8, 4],
  [8, 16, 2],
  [8, 16, 4],
  [16, 8, 4],
  [16, 16, 2],
  [16, 16, 4],
];

interface Work<K extends keyof Ops = keyof Ops> {
  op: K;
  args: Ops[K];
  flops: number;
  /** A small tensor; reading it waits for all work before. */
  look: Tensor;
}

/** Makes tensors of one case; `all` are to be freed. */
function filler(device: WebgpuDevice) {
  const all: Tensor[] = [];
  const filled = (length: number) => {
    const tensor = device.create("float", length, "operand");
    device.run("fill", { out: tensor, n: length, value: 0.5 });
    all.push(tensor);
    return tensor;
  };
  const words = (data: Uint32Array) => {
    const tensor = upload(device, data);
    all.push(tensor);
    return tensor;
  };
  return { all, filled, words };
}

function training(
  { filled, words }: ReturnType<typeof filler>,
  [groups, prompt, branches, length]: Batch,
  [heads, kvHeads, headDim]: Heads,
): Work[] {
  const lengths = new Array<number>(branches).fill(length);
  const { rows, segmentCount, segments, rowSegment, positions } = packLengths(
    Array.from({ length: groups }, () => [prompt, lengths]),
  );
  const pairs = positions.reduce((sum, position) => sum + position + 1, 0);
  const wide = () => filled(rows * heads * headDim),
    narrow = () => filled(rows * kvHeads * headDim);
  const args = {
    ...{ q: wide(), k: narrow(), v: narrow(), out: wide(), lse: filled(rows * heads) },
    ...{ segments: words(segments), rowSegment: words(rowSegment), segmentCount },
    ...{ rows, heads, kvHeads, headDim, scale: headDim ** -0.5 },
    ...{ dout: wide(), dq: wide(), dk: narrow(), dv: narrow() },
  };
  const unit = heads * headDim * pairs;
  return [
    { op: "attention", args, flops: 4 * unit, look: args.lse },
    { op: "attention_backward", args, flops: 10 * unit, look: args.lse },
  ];
}

function decoding(
  { filled, words }: ReturnType<typeof filler>,
  [groups, prompt, branches, length]: Batch,
  [heads, kvHeads, headDim]: Heads,
): Work[] {
  const count = groups * branches, row = kvHeads * headDim;
  if (count === 0) return [];
  const table = new Uint32Array(count * BRANCH.columns);
  for (let b = 0; b < count; b++) {
    const first = Math.floor(b / branches) * prompt;
    table.set([first, first + prompt, b, length], b * BRANCH.columns);
  }
  const args = {
    ...{ q: filled(count * heads * headDim), out: filled(count * heads * headDim) },
    ...{ prefixK: filled(groups * prompt * row), prefixV: filled(groups * prompt * row) },
    ...{ branchK: filled(count * length * row), branchV: filled(count * length * row) },
    ...{ branches: words(table), count, maxNew: length },
    ...{ heads, kvHeads, headDim, scale: headDim ** -0.5 },
  };
  const flops = 4 * heads * headDim * count * (prompt + length);
  return [{ op: "attention_decode", args, flops, look: args.out }];
}

/** Milliseconds of one call: the fastest of several runs of many calls. */
async function time(device: WebgpuDevice, { op, args, look }: Work): Promise<number> {
  const run = async (calls: number) => {
    const start = performance.now();
    for (let i = 0; i < calls; i++) device.run(op, args);
    await device.read(look, 0, 1);
    return (performance.now() - start) / calls;
  };
  await run(2);
  const budget = device.software ? 100 : 200;
  const calls = Math.max(1, Math.min(500, Math.round(budget / 5 / await run(2))));
  let best = Infinity;
  for (const end = performance.now() + budget; performance.now() < end;) {
    best = Math.min(best, await run(calls));
  }
  return best;
}

/** The tile of RGX_ATTENTION_TILE. */
function tileOfEnvironment(): TileShape[] {
  const text = Deno.env.get("RGX_ATTENTION_TILE");
  if (text === undefined) return [];
  const [across, down, each] = text.split(",").map(Number);
  if (![1, 2, 4].includes(each!) || ![across, down].every((n) => Number.isInteger(Math.log2(n!)))) {
    throw new Error(`RGX_ATTENTION_TILE is "${text}", expected across,down,each (powers of two)`);
  }
  return [[across!, down!, each!]];
}

if (import.meta.main) {
  const wanted = Deno.args.find((text) => !text.startsWith("--")) ?? "";
  const others = [...(Deno.args.includes("--tiles") ? TILES : []), ...tileOfEnvironment()];
  const chosen = SHAPES.map((shape) => ({ ...shape }));
  const device = await createWebgpuDevice();
  console.log(device.adapter.name);
  for (const [batch, heads] of device.software ? SOFTWARE : CARD) {
    const tensors = filler(device);
    for (const work of [...training(tensors, batch, heads), ...decoding(tensors, batch, heads)]) {
      const [groups, prompt, branches, length] = batch;
      const name = `${work.op} ${groups} × (${prompt} + ${branches} × ${length}), heads ${heads}`;
      if (!name.includes(wanted)) continue;
      const line = async (tile: string) => {
        const ms = await time(device, work);
        const speed = (work.flops / ms / 1e6).toFixed(1);
        console.log(name.padEnd(64), tile.padEnd(12), `${ms.toFixed(3)} ms`, speed, "GFLOP/s");
      };
      await line("chosen");
      for (const tile of work.op === "attention_decode" ? [] : others) {
        for (const shape of SHAPES) Object.assign(shape, { queries: [tile], keys: [tile] });
        await line(tile.join("×")).catch((error) =>
          console.log(name, tile.join("×"), error.message)
        );
        chosen.forEach((shape, i) => Object.assign(SHAPES[i]!, shape));
      }
    }
    for (const tensor of tensors.all) device.free(tensor);
  }
  device.close();
}
