/**
 * WGSL of the product of one to three rows with a weight [n, k] (decoding): bound by reading the weight once.
 * A workgroup makes four columns of the result; its invocations go along k together, four terms each, share what
 * they read of the rows, and add up their sums in a fixed tree. A LoRA product joins the same sums.
 */
import { bufferType, type Elements, type ElementType, fourElements } from "./elements.wgsl.ts";
import type { KernelSpec } from "../webgpu/kernel.ts";

export interface VectorOptions {
  /** 1 … 3. */
  rows: number;
  /** Invocations; a multiple of {@link LAST_SUMS}. */
  threads: number;
  bType: ElementType;
  aligned: boolean;
  lora: boolean;
}

/** Columns of a workgroup. */
export const VECTOR_COLUMNS = 4;
/** Sums that are left for one invocation. */
const LAST_SUMS = 16;

const range = (n: number) => [...Array(n).keys()];

export function vectorKernel({ rows, threads, bType, aligned, lora }: VectorOptions): KernelSpec {
  const f32: Elements = { type: "f32", aligned }, weight: Elements = { type: bType, aligned };
  const each = range(rows), columns = range(VECTOR_COLUMNS);
  const sums = each.flatMap((i) => columns.map((j) => `c${i}_${j}`));
  /** Adds the products of the rows of x and of w, `length` terms each, to all sums. */
  const products = (x: string, w: string, length: string, scale: string) => [
    `  for (var at = 4u * local; at < ${length}; at += ${4 * threads}u) {`,
    ...each.map((i) =>
      `    let x${i} = ${scale}four_${x}(p.${x}_base + ${i}u * ${length}, at, ${length});`
    ),
    ...columns.map((j) => {
      const start = `p.${w}_base + min(first + ${j}u, p.n - 1u) * ${length}`;
      return `    let w${j} = four_${w}(${start}, at, ${length});`;
    }),
    ...each.flatMap((i) => columns.map((j) => `    c${i}_${j} = fma(x${i}, w${j}, c${i}_${j});`)),
    "  }",
  ];
  const total = (c: string) => `(${c}.x + ${c}.y) + (${c}.z + ${c}.w)`;
  const strided = (count: number, step: number) =>
    range(count).map((s) => `partial[begin + ${s * step}u]`).join(" + ");
  const code = [
    `var<workgroup> partial: array<vec4f, ${rows * threads}>;`,
    fourElements("a", "mat_a", f32),
    fourElements("b", "mat_b", weight),
    ...(lora ? [fourElements("x", "lora_x", f32), fourElements("w", "lora_w", f32)] : []),
    `@compute @workgroup_size(${threads})`,
    "fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,",
    "        @builtin(local_invocation_index) local: u32) {",
    `  let first = (group.x + group.y * groups.x) * ${VECTOR_COLUMNS}u;`,
    "  if (first >= p.n) { return; }",
    ...sums.map((c) => `  var ${c} = vec4f(0.0);`),
    ...products("a", "b", "p.k", ""),
    ...sums.map((c) => `  ${c} *= p.alpha;`),
    ...(lora ? products("x", "w", "p.r", "p.lora_scale * ") : []),
    ...each.map((i) => {
      const parts = columns.map((j) => total(`c${i}_${j}`));
      return `  partial[local + ${i * threads}u] = vec4f(${parts.join(", ")});`;
    }),
    "  workgroupBarrier();",
    `  let begin = local / ${LAST_SUMS}u * ${threads}u + local % ${LAST_SUMS}u;`,
    `  if (local < ${rows * LAST_SUMS}u) { partial[begin] = ${
      strided(threads / LAST_SUMS, LAST_SUMS)
    }; }`,
    "  workgroupBarrier();",
    `  if (local < ${rows}u) {`,
    `    let begin = local * ${threads}u;`,
    `    let sum = ${strided(LAST_SUMS, 1)};`,
    "    let at = p.out_base + local * p.ldo + first;",
    ...columns.map((j) => {
      const lane = `sum.${"xyzw"[j]}`, out = `mat_out[at + ${j}u]`;
      return `    if (first + ${j}u < p.n) { ${out} = select(${lane}, ${out} + ${lane}, p.add != 0u); }`;
    }),
    "  }",
    "}",
  ];
  return {
    name: `matmul.vector${rows}${lora ? ".lora" : ""}`,
    buffers: {
      mat_a: `read ${bufferType(f32)}`,
      mat_b: `read ${bufferType(weight)}`,
      ...(lora ? { lora_x: `read ${bufferType(f32)}`, lora_w: `read ${bufferType(f32)}` } : {}),
      mat_out: "write f32",
    },
    params: {
      n: "u32",
      k: "u32",
      ldo: "u32",
      a_base: "u32",
      b_base: "u32",
      out_base: "u32",
      add: "u32",
      alpha: "f32",
      ...(lora ? { r: "u32", x_base: "u32", w_base: "u32", lora_scale: "f32" } : {}),
    },
    code: code.join("\n"),
  };
}
