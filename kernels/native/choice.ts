/** Decides once per process whether the CPU device uses native kernels. */
import { UsageError } from "../../core/errors.ts";
import type { Device } from "../device.ts";
import type { NativeCode } from "./kernels.ts";
import { nativeLibrary } from "./library.ts";
import { findDifference } from "./self_check.ts";

/** Which kernels the CPU device uses where there are two of a name. */
export interface NativeChoice {
  /** The native kernels; null = the WASM kernels. */
  code: NativeCode | null;
  /** The choice for people: "AVX-512 tiles", or "WASM tiles (…)" with the reason. */
  text: string;
  /** What multiplies numbers in bfloat16, for people: "AMX", "AVX512-BF16" or "WASM (…)". */
  bf16Text: string;
}

function wasmTiles(why: string): NativeChoice {
  return { code: null, text: `WASM tiles (${why})`, bf16Text: `WASM (${why})` };
}

/** Whether RGX_NATIVE leaves native kernels on. @throws UsageError for another value than 0 or 1 */
export function nativeWanted(): boolean {
  const value = Deno.env.get("RGX_NATIVE") ?? "1";
  if (value === "0" || value === "1") return value === "1";
  throw new UsageError(`RGX_NATIVE is "${value}"; expected 1, or 0 to switch native kernels off`);
}

async function choose(open: (code: NativeCode | null) => Device): Promise<NativeChoice> {
  const library = nativeLibrary();
  if (library.code === null) return wasmTiles(library.why);
  const wasm = open(null), native = open(library.code);
  try {
    const difference = await findDifference(wasm, native);
    if (difference !== null) {
      return wasmTiles(`${library.tiles} tiles gave other bits for ${difference}`);
    }
    const { bf16, text: bf16Text } = await chooseBf16(open, wasm, library.code);
    return { code: { ...library.code, bf16 }, text: `${library.tiles} tiles`, bf16Text };
  } finally {
    wasm.close();
    native.close();
  }
}

const BF16_NAMES = { amx: "AMX", avx512: "AVX512-BF16" } as const;

/** The first unit for bfloat16 that this processor has and that gives the bits of WASM. */
async function chooseBf16(
  open: (code: NativeCode | null) => Device,
  wasm: Device,
  code: NativeCode,
): Promise<{ bf16: NativeCode["bf16"]; text: string }> {
  const units = code.bf16 === "amx" ? ["amx", "avx512"] as const : code.bf16 === null ? [] : [
    code.bf16,
  ];
  let why = "this processor has neither AMX nor AVX512-BF16";
  for (const bf16 of units) {
    const native = open({ ...code, bf16 });
    try {
      const difference = await findDifference(wasm, native, "bfloat16");
      if (difference === null) return { bf16, text: BF16_NAMES[bf16] };
      why = `${BF16_NAMES[bf16]} gave other bits for ${difference}`;
    } finally {
      native.close();
    }
  }
  return { bf16: null, text: `WASM (${why})` };
}

let chosen: Promise<NativeChoice> | undefined;

/**
 * The choice, which is made at the first call.
 * @param open makes a CPU device of one thread, with a native library or without
 */
export async function nativeChoice(
  open: (code: NativeCode | null) => Device,
): Promise<NativeChoice> {
  if (!nativeWanted()) return wasmTiles("switched off by RGX_NATIVE=0");
  return await (chosen ??= choose(open));
}
