/**
 * The native kernels as functions with the names and arguments of the WASM kernels, whose memory
 * they work on. A function has the same bits as the WASM kernel of its name (self_check.ts).
 */

import type { CpuFeatures } from "./cpu.ts";

const P = "pointer", U = "u32", I = "i32", F = "f32", D = "f64";

/**
 * The memory's first byte, then the arguments of the WASM kernels: addresses and strides are
 * unsigned, counts are signed.
 */
// deno-fmt-ignore
const SYMBOLS = {
  matmul_blocks: {
    parameters: [P, U, U, I, U, U, I, U, U, U, I, I, I, I, I, F, I, I, I, I, U], result: "void",
  },
  matmul_tall: { parameters: [P, U, U, U, I, I, I, I, I, I, I, I, U], result: "void" },
  transpose_to_panels: { parameters: [P, U, U, I, I, U, I, I, U], result: "void" },
  matmul_stored: {
    parameters: [
      P, I, U, U, U, I, I, I, I, I, I, I, I, F, I, U, U, I, I, F, I, I, U,
    ], result: "void",
  },
  matmul_stored_rows: {
    parameters: [P, I, U, U, U, I, I, I, I, I, I, I, I, F, I, I, I, U], result: "void",
  },
  matmul_stored_dot: {
    parameters: [P, I, U, U, U, U, I, I, I, F, I, I, I, U], result: "void",
  },
  matmul_int8: {
    parameters: [P, I, U, U, U, U, I, I, I, I, F, I, I, I, U], result: "void",
  },
  // The second argument is the unit that multiplies (BF16_UNITS). Only the library for AVX-512 has
  // these four.
  bf16_pack_rows: {
    parameters: [P, I, U, I, I, I, U, I, I, U], result: "void", optional: true,
  },
  matmul_bf16: {
    parameters: [
      P, I, I, I, U, U, U, I, I, I, I, I, I, F, I, U, U, I, F, I, I, U,
    ], result: "void",
    optional: true,
  },
  bf16_pack_columns: {
    parameters: [P, I, I, I, U, I, I, I, U, I, I, U], result: "void", optional: true,
  },
  matmul_bf16_rows: {
    parameters: [P, I, U, I, U, U, I, I, I, I, F, I, U, U, I, F, I, I, U], result: "void",
    optional: true,
  },
  matmul_dot: {
    parameters: [P, U, U, U, I, I, I, F, I, I, I, U], result: "void",
  },
  matmul_halves_dot: {
    parameters: [P, I, U, U, U, I, I, I, F, I, I, I, U], result: "void",
  },
  attention: {
    parameters: [P, U, U, U, U, U, U, U, U, I, I, I, I, F, I, U, I, I, U], result: "void",
  },
  attention_backward: {
    parameters: [P, U, U, U, U, U, U, U, U, U, U, U, I, I, I, I, F, I, I, I, U], result: "void",
  },
  // The second argument says whether to prefetch; so does that of decode_layer.
  attention_decode: {
    parameters: [P, I, U, U, U, U, U, U, U, U, I, I, I, I, I, F, I, I, I, I, I, U], result: "void",
  },
  // More arguments than V8 can compile a call with: they are in memory, as 64-bit floats.
  decode_layer: { parameters: [P, I, P], result: "void" },
  head_forward: {
    parameters: [P, U, U, U, U, I, I, I, I, F, U, U, U, U, I, I, I, I, I, U], result: "void",
  },
  head_forward_lora: {
    parameters: [P, U, U, U, I, I, I, I, F, U, U, U, I, I, U, U, I, I, F, I, I, U], result: "void",
  },
  head_merge: {
    parameters: [P, U, I, I, I, U, U, U, U, I, I, U], result: "void",
  },
  head_dlogits: {
    parameters: [P, U, I, I, I, U, U, U, U, U, U, I, I, U], result: "void",
  },
  rmsnorm: {
    parameters: [P, U, U, U, U, U, U, I, F, I, I, U], result: "void",
  },
  rmsnorm_backward: {
    parameters: [P, U, U, U, U, U, I, I, I, I, U], result: "void",
  },
  rmsnorm_dweight: {
    parameters: [P, U, U, U, U, I, I, I, I, U], result: "void",
  },
  rope: {
    parameters: [P, U, U, U, U, I, I, F, I, I, U], result: "void",
  },
  swiglu: {
    parameters: [P, U, U, U, I, I, I, U], result: "void",
  },
  swiglu_backward: {
    parameters: [P, U, U, U, U, U, I, I, I, U], result: "void",
  },
  swiglu_backward_and_forward: {
    parameters: [P, U, U, U, U, U, U, I, I, I, U], result: "void",
  },
  gather_rows: {
    parameters: [P, U, U, U, I, I, I, U], result: "void",
  },
  scatter_rows: {
    parameters: [P, U, U, U, I, I, I, U], result: "void",
  },
  sample_plain: {
    parameters: [P, U, U, U, U, U, I, D, I, I, U], result: "void",
  },
} as const;

/** Native code that this processor can run. */
export interface NativeCode extends CpuFeatures {
  /** The file of the library (library.ts). */
  path: string;
}

/** The numbers of the units in bf16.h. */
const BF16_UNITS = { amx: 1, avx512: 2 } as const;

/** The kernels that need a unit. */
const BF16_KERNELS = ["bf16_pack_rows", "matmul_bf16", "bf16_pack_columns", "matmul_bf16_rows"];
/** Number of arguments of decode_layer. */
const DECODE_LAYER_ARGUMENTS = 46;

export type KernelFunction = (...args: number[]) => void;

/** The libraries that this thread has opened, by their path. */
const opened = new Map<string, Deno.DynamicLibrary<typeof SYMBOLS>["symbols"]>();

/** The native kernels on a memory, by their names. */
export function nativeKernels(code: NativeCode, memory: WebAssembly.Memory) {
  const { path, dots, bf16 } = code, prefetches = code.prefetches ? 1 : 0;
  const native = opened.get(path) ?? Deno.dlopen(path, SYMBOLS).symbols;
  opened.set(path, native);
  // A shared memory never moves: its address space is reserved when it is made.
  const base = Deno.UnsafePointer.of(new Uint8Array(memory.buffer as ArrayBuffer, 0, 1));
  // Each function is written out, because V8 calls native code directly (in 20 to 40 ns, not in
  // some µs) only where it sees which function is called, and with how many arguments.
  const { matmul_blocks, matmul_tall, transpose_to_panels } = native;
  const { matmul_stored, matmul_stored_rows, matmul_stored_dot, matmul_int8 } = native;
  const { bf16_pack_rows, matmul_bf16, bf16_pack_columns, matmul_bf16_rows } = native;
  const unit = bf16 === null ? 0 : BF16_UNITS[bf16];
  const {
    matmul_dot,
    matmul_halves_dot,
    attention,
    attention_backward,
    attention_decode,
    decode_layer,
    head_forward,
    head_forward_lora,
    head_merge,
    head_dlogits,
    rmsnorm,
    rmsnorm_backward,
    rmsnorm_dweight,
    rope,
    swiglu,
    swiglu_backward,
    swiglu_backward_and_forward,
    gather_rows,
    scatter_rows,
    sample_plain,
  } = native;
  const layer = new Float64Array(DECODE_LAYER_ARGUMENTS);
  const layerAt = Deno.UnsafePointer.of(layer);
  // deno-fmt-ignore
  const functions: Record<keyof typeof SYMBOLS, KernelFunction> = {
    matmul_blocks: (
      s, sStep, layout, vDirect, vDirectStep, directPanels, vPacked, out, outStep, rows, columns, k,
      kBlock, tiles, alpha, accumulate, swapped, begin, end, scratch,
    ) => matmul_blocks(
      base, s!, sStep!, layout!, vDirect!, vDirectStep!, directPanels!, vPacked!, out!, outStep!,
      rows!, columns!, k!, kBlock!, tiles!, alpha!, accumulate!, swapped!, begin!, end!, scratch!,
    ),
    matmul_tall: (a, b, partial, m, n, k, depth, kBlock, tiles, begin, end, scratch) =>
      matmul_tall(
        base, a!, b!, partial!, m!, n!, k!, depth!, kBlock!, tiles!, begin!, end!, scratch!,
      ),
    transpose_to_panels: (source, stride, columns, k, panels, begin, end, scratch) =>
      transpose_to_panels(
        base, source!, stride!, columns!, k!, panels!, begin!, end!, scratch!,
      ),
    matmul_stored: (
      type, a, w, out, m, n, k, unitRows, unitPanels, slice, kBlock, tiles, alpha, accumulate,
      xa, loraB, r, rBlock, loraScale, begin, end, scratch,
    ) => matmul_stored(
      base, type!, a!, w!, out!, m!, n!, k!, unitRows!, unitPanels!, slice!, kBlock!, tiles!,
      alpha!, accumulate!, xa!, loraB!, r!, rBlock!, loraScale!, begin!, end!, scratch!,
    ),
    matmul_stored_rows: (
      type, a, w, out, m, n, k, unitRows, unitColumns, slice, kBlock, tiles, alpha, accumulate,
      begin, end, scratch,
    ) => matmul_stored_rows(
      base, type!, a!, w!, out!, m!, n!, k!, unitRows!, unitColumns!, slice!, kBlock!, tiles!,
      alpha!, accumulate!, begin!, end!, scratch!,
    ),
    matmul_stored_dot: (
      type, x, sums, w, out, m, n, k, alpha, accumulate, begin, end, scratch,
    ) => matmul_stored_dot(
      base, type!, x!, sums!, w!, out!, m!, n!, k!, alpha!, accumulate!, begin!, end!, scratch!,
    ),
    matmul_int8: (
      type, bytes, scales, w, out, m, n, k, unitRows, alpha, accumulate, begin, end, scratch,
    ) => matmul_int8(
      base, type!, bytes!, scales!, w!, out!, m!, n!, k!, unitRows!, alpha!, accumulate!, begin!,
      end!, scratch!,
    ),
    bf16_pack_rows: (a, m, k, transA, packed, begin, end, scratch) =>
      bf16_pack_rows!(base, unit, a!, m!, k!, transA!, packed!, begin!, end!, scratch!),
    matmul_bf16: (
      type, transB, a, b, out, m, n, k, unitRows, unitColumns, slice, alpha, accumulate, xa, loraB,
      r, loraScale, begin, end, scratch,
    ) => matmul_bf16!(
      base, unit, type!, transB!, a!, b!, out!, m!, n!, k!, unitRows!, unitColumns!, slice!, alpha!,
      accumulate!, xa!, loraB!, r!, loraScale!, begin!, end!, scratch!,
    ),
    bf16_pack_columns: (type, transB, b, n, k, unitColumns, packed, begin, end, scratch) =>
      bf16_pack_columns!(
        base, unit, type!, transB!, b!, n!, k!, unitColumns!, packed!, begin!, end!, scratch!,
      ),
    matmul_bf16_rows: (
      a, transA, b, out, m, n, k, unitColumns, alpha, accumulate, xa, loraB, r, loraScale, begin,
      end, scratch,
    ) => matmul_bf16_rows!(
      base, unit, a!, transA!, b!, out!, m!, n!, k!, unitColumns!, alpha!, accumulate!, xa!,
      loraB!, r!, loraScale!, begin!, end!, scratch!,
    ),
    matmul_dot: (
      x, w, out, m, n, k, alpha, accumulate, begin, end, scratch,
    ) => matmul_dot(
      base, x!, w!, out!, m!, n!, k!, alpha!, accumulate!, begin!, end!, scratch!,
    ),
    matmul_halves_dot: (
      bf16, x, w, out, m, n, k, alpha, accumulate, begin, end, scratch,
    ) => matmul_halves_dot(
      base, bf16!, x!, w!, out!, m!, n!, k!, alpha!, accumulate!, begin!, end!, scratch!,
    ),
    attention: (
      q, k, v, out, lse, segments, rowSegment, keyRows, rows, heads, kvHeads, headDim, scale,
      window, firstKeysOffset, begin, end, scratch,
    ) => attention(
      base, q!, k!, v!, out!, lse!, segments!, rowSegment!, keyRows!, rows!, heads!, kvHeads!,
      headDim!, scale!, window!, firstKeysOffset!, begin!, end!, scratch!,
    ),
    attention_backward: (
      q, k, v, out, lse, dout, dq, dk, dv, segments, rowSegment, segmentCount, heads, kvHeads,
      headDim, scale, window, begin, end, scratch,
    ) => attention_backward(
      base, q!, k!, v!, out!, lse!, dout!, dq!, dk!, dv!, segments!, rowSegment!, segmentCount!,
      heads!, kvHeads!, headDim!, scale!, window!, begin!, end!, scratch!,
    ),
    attention_decode: (
      q, prefixK, packedPrefixK, prefixV, branchK, branchV, out, branches, branchCount, maxNew,
      heads, kvHeads, headDim, scale, blockBranches, width, window, begin, end, scratch,
    ) => attention_decode(
      base, prefetches, q!, prefixK!, packedPrefixK!, prefixV!, branchK!, branchV!, out!, branches!,
      branchCount!, maxNew!, heads!, kvHeads!, headDim!, scale!, blockBranches!, width!, window!,
      begin!, end!, scratch!,
    ),
    decode_layer: (...args) => {
      layer.set(args);
      decode_layer(base, prefetches, layerAt);
    },
    head_forward: (
      hidden, panels, values, stats, rows, firstColumn, endColumn, d, alpha, pairStart, targets,
      logp, mean, chunk, kBlock, chunkBlock, begin, end, scratch,
    ) => head_forward(
      base, hidden!, panels!, values!, stats!, rows!, firstColumn!, endColumn!, d!, alpha!,
      pairStart!, targets!, logp!, mean!, chunk!, kBlock!, chunkBlock!, begin!, end!, scratch!,
    ),
    head_forward_lora: (
      hidden, panels, stats, rows, firstColumn, endColumn, d, alpha, pairStart, targets, logp,
      chunk, kBlock, xa, loraPanels, r, rBlock, loraAlpha, begin, end, scratch,
    ) => head_forward_lora(
      base, hidden!, panels!, stats!, rows!, firstColumn!, endColumn!, d!, alpha!, pairStart!,
      targets!, logp!, chunk!, kBlock!, xa!, loraPanels!, r!, rBlock!, loraAlpha!, begin!, end!,
      scratch!,
    ),
    head_merge: (
      z, width, first, row, stats, pairStart, targets, logp, begin, end, scratch,
    ) => head_merge(
      base, z!, width!, first!, row!, stats!, pairStart!, targets!, logp!, begin!, end!, scratch!,
    ),
    head_dlogits: (
      z, width, first, row, pairStart, targets, lse, entropy, dlogp, dentropy, begin, end, scratch,
    ) => head_dlogits(
      base, z!, width!, first!, row!, pairStart!, targets!, lse!, entropy!, dlogp!, dentropy!,
      begin!, end!, scratch!,
    ),
    rmsnorm: (
      x, addend, sum, weight, out, rho, d, eps, begin, end, scratch,
    ) => rmsnorm(
      base, x!, addend!, sum!, weight!, out!, rho!, d!, eps!, begin!, end!, scratch!,
    ),
    rmsnorm_backward: (
      dout, x, weight, rho, dx, accumulate, d, begin, end, scratch,
    ) => rmsnorm_backward(
      base, dout!, x!, weight!, rho!, dx!, accumulate!, d!, begin!, end!, scratch!,
    ),
    rmsnorm_dweight: (
      dout, x, rho, dweight, rows, d, begin, end, scratch,
    ) => rmsnorm_dweight(
      base, dout!, x!, rho!, dweight!, rows!, d!, begin!, end!, scratch!,
    ),
    rope: (
      x, cos, sin, positions, heads, headDim, sign, begin, end, scratch,
    ) => rope(
      base, x!, cos!, sin!, positions!, heads!, headDim!, sign!, begin!, end!, scratch!,
    ),
    swiglu: (
      gate, up, out, n, begin, end, scratch,
    ) => swiglu(
      base, gate!, up!, out!, n!, begin!, end!, scratch!,
    ),
    swiglu_backward: (
      dout, gate, up, dgate, dup, n, begin, end, scratch,
    ) => swiglu_backward(
      base, dout!, gate!, up!, dgate!, dup!, n!, begin!, end!, scratch!,
    ),
    swiglu_backward_and_forward: (
      dout, gate, up, dgate, dup, out, n, begin, end, scratch,
    ) => swiglu_backward_and_forward(
      base, dout!, gate!, up!, dgate!, dup!, out!, n!, begin!, end!, scratch!,
    ),
    gather_rows: (
      table, index, out, d, begin, end, scratch,
    ) => gather_rows(
      base, table!, index!, out!, d!, begin!, end!, scratch!,
    ),
    scatter_rows: (
      src, index, table, d, begin, end, scratch,
    ) => scatter_rows(
      base, src!, index!, table!, d!, begin!, end!, scratch!,
    ),
    sample_plain: (
      logits, scored, counters, tokens, distances, vocab, temperature, begin, end, scratch,
    ) => sample_plain(
      base, logits!, scored!, counters!, tokens!, distances!, vocab!, temperature!, begin!, end!,
      scratch!,
    ),
  };
  const found = new Map<string, KernelFunction>(Object.entries(functions));
  if (!dots) found.delete("matmul_int8");
  if (bf16 === null) { for (const name of BF16_KERNELS) found.delete(name); }
  return found;
}
