/**
 * Speed of attention on the CPU device, in the shapes of training and generation:
 *
 *     deno task fast kernels/ops/attention/wasm_bench.ts [part of a case's name]
 *
 * The best of many runs. GFLOP/s counts 4 (forward, decode) or 10 (backward) · heads · headDim
 * operations for each pair of a row and a row that it attends to.
 */
import type { Device } from "../../device.ts";
import type { Tensor } from "../../tensor.ts";
import { BRANCH } from "../attention_decode/spec.ts";
import type { Ops } from "../ops.ts";
import { normals, packLengths, stream, upload } from "../../testing.ts";
import { createWasmDevice, type WasmDevice } from "../../devices/wasm/device.ts";

type Heads = readonly [heads: number, kvHeads: number, headDim: number];

/**
 * Groups of equal shape: their number, and the prompt length, branches and branch length of each.
 */
interface Batch {
  groups: number;
  prompt: number;
  branches: number;
  length: number;
}

/** One operation to time, its cost, and the tensors to free afterwards. */
interface Work {
  run: () => void;
  flops: number;
  tensors: Tensor[];
}

const TRAINING: [Batch, Heads][] = [
  [{ groups: 4, prompt: 64, branches: 8, length: 64 }, [8, 4, 16]],
  [{ groups: 24, prompt: 40, branches: 16, length: 10 }, [8, 4, 16]],
  [{ groups: 24, prompt: 30, branches: 8, length: 12 }, [4, 2, 24]],
  [{ groups: 4, prompt: 64, branches: 8, length: 64 }, [8, 4, 32]],
  [{ groups: 4, prompt: 64, branches: 8, length: 64 }, [8, 4, 64]],
  [{ groups: 64, prompt: 48, branches: 0, length: 0 }, [8, 4, 16]],
  [{ groups: 1, prompt: 2048, branches: 0, length: 0 }, [9, 3, 64]],
];

const GENERATION: [Batch, Heads][] = [
  [{ groups: 4, prompt: 64, branches: 8, length: 32 }, [8, 4, 16]],
  [{ groups: 24, prompt: 40, branches: 16, length: 5 }, [8, 4, 16]],
  [{ groups: 1, prompt: 512, branches: 8, length: 256 }, [9, 3, 64]],
];

function attention(device: Device, batch: Batch, [heads, kvHeads, headDim]: Heads, back: boolean) {
  const lengths = new Array<number>(batch.branches).fill(batch.length);
  const layout = packLengths(Array.from({ length: batch.groups }, () => [batch.prompt, lengths]));
  const { rows, segmentCount, segments, rowSegment } = layout;
  let pairs = 0;
  for (const position of layout.positions) pairs += position + 1;
  const random = stream("attention_bench");
  const wide = () => upload(device, normals(random, rows * heads * headDim));
  const narrow = () => upload(device, normals(random, rows * kvHeads * headDim));
  const args = {
    q: wide(),
    k: narrow(),
    v: narrow(),
    out: wide(),
    lse: upload(device, new Float32Array(rows * heads)),
    segments: upload(device, segments),
    rowSegment: upload(device, rowSegment),
    segmentCount,
    rows,
    heads,
    kvHeads,
    headDim,
    scale: 1 / Math.sqrt(headDim),
    dout: wide(),
    dq: wide(),
    dk: narrow(),
    dv: narrow(),
  };
  device.run("attention", args);
  return work(device, back ? "attention_backward" : "attention", args, {
    flops: (back ? 10 : 4) * heads * headDim * pairs,
  });
}

function decode(device: Device, batch: Batch, [heads, kvHeads, headDim]: Heads): Work {
  const count = batch.groups * batch.branches, maxNew = 2 * batch.length;
  const random = stream("decode_bench");
  const cells = (n: number) => upload(device, normals(random, n * headDim));
  const branches = Uint32Array.from({ length: count }, (_, b) => b).reduce((table, b) => {
    const first = Math.floor(b / batch.branches) * batch.prompt;
    table.set([first, first + batch.prompt, b, batch.length], BRANCH.columns * b);
    return table;
  }, new Uint32Array(BRANCH.columns * count));
  return work(device, "attention_decode", {
    q: cells(count * heads),
    prefixK: cells(batch.groups * batch.prompt * kvHeads),
    prefixV: cells(batch.groups * batch.prompt * kvHeads),
    branchK: cells(count * maxNew * kvHeads),
    branchV: cells(count * maxNew * kvHeads),
    out: cells(count * heads),
    branches: upload(device, branches),
    count,
    maxNew,
    heads,
    kvHeads,
    headDim,
    scale: 1 / Math.sqrt(headDim),
  }, { flops: 4 * heads * headDim * count * (batch.prompt + batch.length) });
}

function work<K extends keyof Ops>(
  device: Device,
  op: K,
  args: Ops[K],
  { flops }: { flops: number },
): Work {
  const tensors = Object.values(args).filter((value) => typeof value === "object") as Tensor[];
  return { run: () => device.run(op, args), flops, tensors };
}

/** GFLOP/s of the fastest of many runs within 0.3 seconds. */
function fastest(make: (device: Device) => Work, device: WasmDevice): number {
  const { run, flops, tensors } = make(device);
  const inner = Math.max(1, Math.round(1e7 / flops));
  for (let i = 0; i < 20; i++) run();
  const until = performance.now() + 300;
  let best = Infinity;
  while (performance.now() < until) {
    const start = performance.now();
    for (let i = 0; i < inner; i++) run();
    best = Math.min(best, (performance.now() - start) / inner);
  }
  for (const tensor of tensors) device.free(tensor);
  return flops / best / 1e6;
}

if (import.meta.main) {
  const wanted = Deno.args[0] ?? "";
  const one = await createWasmDevice({ threads: 1 });
  const two = await createWasmDevice({ threads: 2 });
  await two.ready();
  console.log("GFLOP/s".padEnd(64), "1 thread  2 threads");
  const show = (op: string, batch: Batch, heads: Heads, make: (device: Device) => Work) => {
    const name = `${op} ${batch.groups} × (${batch.prompt} + ${batch.branches} × ${batch.length})` +
      `, heads ${heads.join("/")}`;
    if (!name.includes(wanted)) return;
    const single = fastest(make, one), double = fastest(make, two);
    console.log(name.padEnd(64), single.toFixed(1).padStart(8), double.toFixed(1).padStart(10));
  };
  for (const [batch, heads] of TRAINING) {
    show("forward", batch, heads, (device) => attention(device, batch, heads, false));
    show("backward", batch, heads, (device) => attention(device, batch, heads, true));
  }
  for (const [batch, heads] of GENERATION) {
    show("decode", batch, heads, (device) => decode(device, batch, heads));
  }
  one.close();
  two.close();
}
