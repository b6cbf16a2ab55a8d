/**
 * Translates WGSL to SPIR-V with naga, which Deno's WebGPU uses too, compiled to WebAssembly.
 * `naga/README.md` says how `naga/wgsl_to_spirv.wasm` is built.
 */
import bytes from "./naga/wgsl_to_spirv.wasm" with { type: "bytes" };
import type { Bytes } from "./memory_layout.ts";

interface Naga {
  memory: WebAssembly.Memory;
  reserve(bytes: number): number;
  translate(flags: number): number;
  output(): number;
}

const CHECKED = 1, CHECKED_BUFFERS = 2;

let naga: Naga | undefined;

export interface TranslateOptions {
  /** Bound loops, and indices into arrays of an invocation or a workgroup. */
  checked: boolean;
  /** Bound indices into buffers. */
  checkedBuffers: boolean;
}

/**
 * SPIR-V 1.6 for a WGSL text.
 * @throws Error with the line of the text that is wrong
 */
export function wgslToSpirv(text: string, options: TranslateOptions): Bytes {
  if (naga === undefined) {
    const module = new WebAssembly.Module(bytes as Bytes);
    naga = new WebAssembly.Instance(module, {}).exports as unknown as Naga;
  }
  const { memory, reserve, translate, output } = naga;
  const utf8 = new TextEncoder().encode(text), at = reserve(utf8.length);
  new Uint8Array(memory.buffer, at, utf8.length).set(utf8);
  let length: number;
  try {
    length = translate(
      (options.checked ? CHECKED : 0) | (options.checkedBuffers ? CHECKED_BUFFERS : 0),
    );
  } catch (error) {
    naga = undefined; // a panic: its memory is in an unknown state
    throw error;
  }
  const result = new Uint8Array(memory.buffer, output(), Math.abs(length)).slice();
  if (length < 0) throw new Error(new TextDecoder().decode(result).trim());
  return result;
}
