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
  return withoutHalfInputs(result);
}

/**
 * SPIR-V without the capability StorageInputOutput16. naga declares it for every f16, but it is for
 * inputs of shaders between stages, and many cards do not have it.
 */
function withoutHalfInputs(spirv: Bytes): Bytes {
  const HEADER_WORDS = 5, OP_CAPABILITY = 17, STORAGE_INPUT_OUTPUT_16 = 4436;
  const words = new Uint32Array(spirv.buffer);
  for (let at = HEADER_WORDS; (words[at]! & 0xffff) === OP_CAPABILITY; at += 2) {
    if (words[at + 1] !== STORAGE_INPUT_OUTPUT_16) continue;
    const kept = new Uint32Array(words.length - 2);
    kept.set(words.subarray(0, at));
    kept.set(words.subarray(at + 2), at);
    return new Uint8Array(kept.buffer);
  }
  return spirv;
}
