/**
 * Speed of the matrix product on the GPU, by shape and by tile:
 *
 *     deno task bench:matmul:gpu [--tiles] [part of a shape's name]
 *
 * The shapes are those of training and decoding with Qwen2.5-0.5B and 1.5B, and 4096³; on a
 * software adapter tiny ones. Each line is the median of several runs, which end with a small read.
 * `--tiles` measures every tile on every shape. RGX_MATMUL_TILE=bm,bn,tm,tn,bk,slices adds one
 * more, to look for better tiles on a new card.
 */
import type { Tensor } from "../../tensor.ts";
import { createWebgpuDevice, type WebgpuDevice } from "../../devices/webgpu/device.ts";
import { type MatmulArgs, packedLength, type WeightType } from "./spec.ts";
import { storedWords } from "../../weights/types.ts";
import type { TileShape } from "./webgpu/tile.wgsl.ts";
import { chooseKernel, kernelName, TILES } from "./webgpu/choose.ts";
import { matmulWith } from "./webgpu.ts";

interface Shape {
  name: string;
  m: number;
  n: number;
  k: number;
  transA?: boolean;
  transB?: boolean;
  packedB?: boolean;
  weightType?: WeightType;
  r?: number;
}

const xWt = (name: string, m: number, n: number, k: number): Shape => ({
  name: `${name} x·Wᵀ`,
  ...{ m, n, k, transB: true },
});
const dyW = (name: string, m: number, n: number, k: number): Shape => ({
  name: `${name} dy·W`,
  ...{ m, n, k },
});
const dytX = (name: string, m: number, n: number, k: number): Shape => ({
  name: `${name} dyᵀ·x`,
  ...{ m, n, k, transA: true },
});
const packed = (name: string, m: number, n: number, k: number): Shape => ({
  name: `${name} packed`,
  ...{ m, n, k, packedB: true },
});

/** Both directions, with weights in bf16, in 8 bits and in 4 bits. */
const stored = (name: string, m: number, n: number, k: number): Shape[] =>
  (["bf16", "q8_0", "q4_1", "nf4"] as const).flatMap((weightType) => [
    { ...xWt(`${name}, ${weightType}`, m, n, k), weightType },
    { ...dyW(`${name}, ${weightType}`, m, k, n), weightType },
  ]);

/** Rows of a training step: 8 prompts of 256 tokens with 8 completions of 256 would be 18 432. */
const ROWS = 4096;

const CARD: Shape[] = [
  ...[xWt, dyW, dytX].map((make) => make("4096³", 4096, 4096, 4096)),
  xWt("0.5B q", ROWS, 896, 896),
  xWt("0.5B k", ROWS, 128, 896),
  xWt("0.5B gate", ROWS, 4864, 896),
  { ...xWt("0.5B gate, LoRA 16", ROWS, 4864, 896), r: 16 },
  ...stored("0.5B gate", ROWS, 4864, 896),
  xWt("0.5B down", ROWS, 896, 4864),
  dyW("0.5B down", ROWS, 4864, 896),
  xWt("0.5B LoRA A", ROWS, 16, 896),
  dytX("0.5B LoRA A", 16, 896, ROWS),
  dytX("0.5B LoRA B", 4864, 16, ROWS),
  xWt("1.5B gate", ROWS, 8960, 1536),
  xWt("1.5B down", ROWS, 1536, 8960),
  ...[1, 3, 4, 16, 64].flatMap((m) => [
    xWt(`0.5B q, ${m} rows`, m, 896, 896),
    xWt(`0.5B gate, ${m} rows`, m, 4864, 896),
    packed(`0.5B gate, ${m} rows`, m, 4864, 896),
    xWt(`0.5B down, ${m} rows`, m, 896, 4864),
    ...stored(`0.5B gate, ${m} rows`, m, 4864, 896),
  ]),
  xWt("0.5B head, 1 row", 1, 151_936, 896),
  packed("0.5B head, 1 row", 1, 151_936, 896),
  { ...xWt("0.5B head, 1 row, bf16", 1, 151_936, 896), weightType: "bf16" },
];

const SOFTWARE: Shape[] = [
  ...[xWt, dyW, dytX].map((make) => make("256³", 256, 256, 256)),
  xWt("512³", 512, 512, 512),
  { ...xWt("256³, LoRA 16", 256, 256, 256), r: 16 },
  ...stored("256³", 256, 256, 256),
  ...[1, 3, 8, 16, 32].flatMap((m) => [
    xWt(`${m} rows`, m, 512, 256),
    packed(`${m} rows`, m, 512, 256),
  ]),
  xWt("LoRA A", 256, 16, 256),
  dytX("LoRA A", 16, 256, 256),
];

/** The arguments of a product of a shape, and the tensors to free afterwards. */
function operands(device: WebgpuDevice, shape: Shape): { args: MatmulArgs; tensors: Tensor[] } {
  const { name: _, r = 0, ...product } = shape;
  const { m, n, k, transB, packedB, weightType } = product;
  const filled = (length: number) => {
    const tensor = device.create("float", length, "operand");
    device.run("fill", { out: tensor, n: length, value: 0.5 });
    return tensor;
  };
  const a = filled(m * k), out = filled(m * n);
  const b = weightType === undefined
    ? filled(packedB ? packedLength(n, k) : n * k)
    : device.create("u32", storedWords(weightType, transB ? n : k, transB ? k : n), "stored");
  const lora = r === 0 ? {} : { xa: filled(m * r), loraB: filled(n * r), r };
  const args = { ...product, ...lora, a, b, out };
  const tensors = Object.values({ a, b, out, ...lora })
    .filter((value): value is Tensor => typeof value === "object");
  return { args, tensors };
}

const median = (values: number[]) => values.toSorted((x, y) => x - y)[values.length >> 1]!;

/** Milliseconds of one call: the median of runs of many calls, within `budget` milliseconds. */
async function time(device: WebgpuDevice, look: Tensor, call: () => void, budget: number) {
  const run = async (calls: number) => {
    const start = performance.now();
    for (let i = 0; i < calls; i++) call();
    await device.read(look, 0, 1);
    return (performance.now() - start) / calls;
  };
  await run(2);
  const calls = Math.max(1, Math.min(500, Math.round(budget / 5 / await run(2))));
  const times: number[] = [];
  for (const end = performance.now() + budget; times.length < 3 || performance.now() < end;) {
    times.push(await run(calls));
  }
  return median(times);
}

/** The tile of RGX_MATMUL_TILE. */
function tileOfEnvironment(): Record<string, TileShape> {
  const text = Deno.env.get("RGX_MATMUL_TILE");
  if (text === undefined) return {};
  const [bm, bn, tm, tn, bk, slices] = text.split(",").map(Number);
  if ([bm, bn, tm, tn, bk, slices].some((x) => !Number.isInteger(x) || x! < 1)) {
    throw new Error(`RGX_MATMUL_TILE is "${text}", expected bm,bn,tm,tn,bk,slices`);
  }
  return { custom: { bm: bm!, bn: bn!, tm: tm!, tn: tn!, bk: bk!, slices: slices! } };
}

const label = (name: string, { bm, bn, bk, slices }: TileShape) =>
  `${name} ${bm}×${bn}×${bk}${slices > 1 ? ` in ${slices}` : ""}`;

if (import.meta.main) {
  const all = Deno.args.includes("--tiles");
  const wanted = Deno.args.find((text) => !text.startsWith("--")) ?? "";
  const device = await createWebgpuDevice();
  console.log(`${device.adapter.name}: Gflop/s, and GB/s of operands and result`);
  for (const shape of device.software ? SOFTWARE : CARD) {
    if (!shape.name.includes(wanted)) continue;
    const { args, tensors } = operands(device, shape);
    const { m, n, k, r = 0 } = shape;
    const chosen = chooseKernel(args, device);
    const tiles: Record<string, TileShape> = { ...(all ? TILES : {}), ...tileOfEnvironment() };
    const candidates = [
      [`chosen: ${kernelName(chosen)}`, chosen] as const,
      ...Object.entries(tiles).map(([name, tile]) => [label(name, tile), tile] as const),
    ];
    for (const [name, kernel] of candidates) {
      const budget = device.software ? 150 : 300;
      const ms = await time(device, args.out, () => matmulWith(kernel, args, device), budget);
      const flops = 2 * m * n * (k + r);
      const bytes = 4 * tensors.reduce((sum, { length }) => sum + length, 0);
      console.log(
        `${shape.name} ${m}×${n}×${k}`.padEnd(42),
        name.padEnd(32),
        `${ms.toFixed(4)} ms`.padStart(12),
        (flops / ms / 1e6).toFixed(1).padStart(10),
        (bytes / ms / 1e6).toFixed(1).padStart(9),
      );
    }
    for (const tensor of tensors) device.free(tensor);
  }
  device.close();
}
