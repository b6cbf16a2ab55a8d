/**
 * Speed of the elementwise and rowwise operations on the CPU device:
 *
 *     deno task fast kernels/ops/elementwise/row_operations_bench.ts [part of an operation's name]
 *
 * The best of many runs. GB/s counts every tensor element that is read or written once; for
 * sampling it counts the logits.
 */
import type { Device } from "../../device.ts";
import type { Tensor } from "../../tensor.ts";
import type { Ops } from "../ops.ts";
import { normals, stream, upload } from "../../testing.ts";
import { createWasmDevice, type WasmDevice } from "../../devices/wasm/device.ts";

const ROWS = 2304, D = 128, F = 384, VOCAB = 2048, COUNT = 32;

/** A call, the bytes that it must move, and the tensors to free afterwards. */
interface Work {
  run: () => void;
  bytes: number;
  tensors: Tensor[];
}

const CASES: { name: string; make: (device: Device) => Work }[] = [];

function add<K extends keyof Ops>(
  name: string,
  op: K,
  bytes: number,
  makeArgs: (floats: (n: number) => Tensor, words: (data: Uint32Array) => Tensor) => Ops[K],
) {
  const make = (device: Device): Work => {
    const tensors: Tensor[] = [];
    const keep = (tensor: Tensor) => (tensors.push(tensor), tensor);
    const random = stream(name);
    const args = makeArgs(
      (n) => keep(upload(device, normals(random, n))),
      (data) => keep(upload(device, data)),
    );
    return { run: () => device.run(op, args), bytes, tensors };
  };
  CASES.push({ name, make });
}

const n = ROWS * F, rd = ROWS * D;
const ascending = (count: number, modulus: number) =>
  Uint32Array.from({ length: count }, (_, i) => (i * 7) % modulus);

add("add", "add", 12 * n, (f) => ({ a: f(n), b: f(n), out: f(n), n, scale: 0.5 }));
add("copy", "copy", 8 * n, (f) => ({ src: f(n), out: f(n), n }));
add("fill", "fill", 4 * n, (f) => ({ out: f(n), n, value: 0 }));
add("swiglu", "swiglu", 12 * n, (f) => ({ gate: f(n), up: f(n), out: f(n), n }));
add("swiglu_backward", "swiglu_backward", 20 * n, (f) => ({
  dout: f(n),
  gate: f(n),
  up: f(n),
  dgate: f(n),
  dup: f(n),
  n,
}));
add("rmsnorm", "rmsnorm", 8 * rd, (f) => ({
  x: f(rd),
  weight: f(D),
  out: f(rd),
  rho: f(ROWS),
  rows: ROWS,
  d: D,
  eps: 1e-5,
}));
add("rmsnorm + residual", "rmsnorm", 16 * rd, (f) => ({
  x: f(rd),
  add: f(rd),
  sum: f(rd),
  weight: f(D),
  out: f(rd),
  rho: f(ROWS),
  rows: ROWS,
  d: D,
  eps: 1e-5,
}));
add("rmsnorm_backward", "rmsnorm_backward", 16 * rd, (f) => ({
  dout: f(rd),
  x: f(rd),
  weight: f(D),
  rho: f(ROWS),
  dx: f(rd),
  accumulate: true,
  rows: ROWS,
  d: D,
}));
add("rmsnorm_backward + dweight", "rmsnorm_backward", 24 * rd, (f) => ({
  dout: f(rd),
  x: f(rd),
  weight: f(D),
  rho: f(ROWS),
  dx: f(rd),
  dweight: f(D),
  accumulate: true,
  rows: ROWS,
  d: D,
}));
add("rope", "rope", 8 * rd, (f, u) => ({
  x: f(rd),
  cos: f(8 * 256),
  sin: f(8 * 256),
  positions: u(ascending(ROWS, 256)),
  rows: ROWS,
  heads: 8,
  headDim: 16,
}));
add("gather_rows", "gather_rows", 8 * rd, (f, u) => ({
  table: f(VOCAB * D),
  index: u(ascending(ROWS, VOCAB)),
  out: f(rd),
  rows: ROWS,
  d: D,
}));
add("scatter_rows", "scatter_rows", 8 * rd, (f, u) => ({
  src: f(rd),
  index: u(Uint32Array.from({ length: ROWS }, (_, i) => i)),
  table: f(rd),
  rows: ROWS,
  d: D,
}));
add("scatter_add_rows", "scatter_add_rows", 4 * rd + 8 * 96 * D, (f, u) => ({
  src: f(rd),
  order: u(Uint32Array.from({ length: ROWS }, (_, i) => i)),
  runs: u(Uint32Array.from({ length: 97 }, (_, i) => i * 24)),
  target: u(Uint32Array.from({ length: 96 }, (_, i) => i)),
  table: f(96 * D),
  runCount: 96,
  d: D,
}));
add("adamw", "adamw", 28 * n, (f) => ({
  param: f(n),
  grad: f(n),
  m: f(n),
  v: f(n),
  n,
  lr: 1e-9,
  beta1: 0.9,
  beta2: 0.999,
  eps: 1e-8,
  weightDecay: 0,
  correction1: 1,
  correction2: 1,
  gradScale: 1,
}));
add("sum_squares", "sum_squares", 4 * n, (f) => ({ x: f(n), partial: f(n / 4096), n }));
const filters = { greedy: [0, 0, 1, 0], plain: [1, 0, 1, 0], "top-k": [1, 50, 1, 0] } as const;
const filtered = { ...filters, "top-k top-p": [0.8, 50, 0.95, 0] } as const;
for (const [name, [temperature, topK, topP, minP]] of Object.entries(filtered)) {
  add(`sample ${name}`, "sample", 4 * COUNT * VOCAB, (f, u) => ({
    logits: f(COUNT * VOCAB),
    counters: u(ascending(5 * COUNT, 1000)),
    tokens: u(new Uint32Array(COUNT)),
    logp: f(COUNT),
    rows: COUNT,
    vocab: VOCAB,
    temperature,
    topK,
    topP,
    minP,
  }));
}

/** Milliseconds of the fastest of many runs. */
function fastest(make: (device: Device) => Work, device: WasmDevice): number {
  const { run, tensors } = make(device);
  for (let i = 0; i < 50; i++) run();
  const until = performance.now() + 200;
  let best = Infinity;
  while (performance.now() < until) {
    const start = performance.now();
    for (let i = 0; i < 5; i++) run();
    best = Math.min(best, (performance.now() - start) / 5);
  }
  for (const tensor of tensors) device.free(tensor);
  return best;
}

if (import.meta.main) {
  const wanted = Deno.args[0] ?? "";
  const one = await createWasmDevice({ threads: 1 });
  const two = await createWasmDevice({ threads: 2 });
  await two.ready();
  console.log("".padEnd(28), "1 thread: µs  GB/s    2 threads: µs  GB/s");
  for (const { name, make } of CASES) {
    if (!name.includes(wanted)) continue;
    const { bytes, tensors } = make(one);
    for (const tensor of tensors) one.free(tensor);
    const times = [fastest(make, one), fastest(make, two)];
    const columns = times.map((ms) =>
      (ms * 1e3).toFixed(0).padStart(12) + (bytes / ms / 1e6).toFixed(1).padStart(6)
    );
    console.log(name.padEnd(28), columns.join("    "));
  }
  one.close();
  two.close();
}
