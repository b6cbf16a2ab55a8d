/** How most operations divide their work on the CPU. */
import type { KernelArguments } from "./kernel_arguments.ts";
import type { KernelValue, NamedArguments, WasmContext } from "./wasm_op.ts";

/** Elements in a work unit of {@link byElements} (native/c/elements.h). */
const BLOCK = 1024;
/** Elements in a chunk of {@link byRows} and {@link byColumns}: about 2.5 µs. */
export const CHUNK = 8192;
/** Columns in a work unit of {@link byColumns}. */
const COLUMNS = 16;

type Values<K extends keyof KernelArguments> = { [Name in KernelArguments[K]]?: KernelValue };

/**
 * Runs a kernel whose work unit is BLOCK elements.
 * @param grain number of units that take about 2.5 µs
 */
export function byElements<K extends keyof KernelArguments, Args extends Values<K>>(
  ctx: WasmContext,
  kernel: K,
  grain: number,
  args: NamedArguments<K, Args> & { n: number },
): void {
  ctx.parallel<K, Args>({ kernel, units: Math.ceil(args.n / BLOCK), grain, args });
}

/**
 * Runs a kernel whose work unit is a row of d elements.
 * @param chunk number of elements that take about 2.5 µs
 */
export function byRows<K extends keyof KernelArguments, Args extends Values<K>>(
  ctx: WasmContext,
  kernel: K,
  { rows, d }: { rows: number; d: number },
  args: NamedArguments<K, Args>,
  chunk = CHUNK,
): void {
  ctx.parallel<K, Args>({ kernel, units: rows, grain: Math.ceil(chunk / d), args });
}

/** Runs a kernel whose work unit is COLUMNS columns. It sums each column over all rows. */
export function byColumns<K extends keyof KernelArguments, Args extends Values<K>>(
  ctx: WasmContext,
  kernel: K,
  args: NamedArguments<K, Args> & { rows: number; d: number },
): void {
  const grain = Math.ceil(CHUNK / (COLUMNS * Math.max(args.rows, 1)));
  ctx.parallel<K, Args>({ kernel, units: Math.ceil(args.d / COLUMNS), grain, args });
}
