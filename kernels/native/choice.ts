/** Decides once per process whether the CPU device uses native kernels. */
import { UsageError } from "../../core/errors.ts";
import type { Device } from "../device.ts";
import type { NativeCode } from "./kernels.ts";
import { type NativeLibraries, nativeLibraries, VECTORS } from "./library.ts";
import { findDifference } from "./self_check.ts";

/** Which kernels the CPU device uses where there are two of a name. */
export interface NativeChoice {
  /** The native kernels; null = the WASM kernels. */
  code: NativeCode | null;
  /** The choice for people: "AVX-512 tiles", or "WASM tiles (…)" with the reason. */
  text: string;
  /** What multiplies in bfloat16, for people: "AMX", "AVX512-BF16", "AVX2 tiles" or "WASM (…)". */
  bf16Text: string;
}

function wasmTiles(why: string): NativeChoice {
  return { code: null, text: `WASM tiles (${why})`, bf16Text: `WASM (${why})` };
}

/** The values of RGX_TARGET. */
const TARGETS = ["wasm", "avx2", "avx512", "neon"] as const;

/**
 * The native kernels that this process may use, the best first, or why there are none. RGX_TARGET
 * names the only ones; RGX_NATIVE=0 switches all off.
 * @throws UsageError for a value that these do not have, and for a target that cannot be had here
 */
export function wantedLibraries(): NativeLibraries {
  const native = Deno.env.get("RGX_NATIVE") ?? "1", target = Deno.env.get("RGX_TARGET") ?? "";
  if (native !== "0" && native !== "1") {
    throw new UsageError(
      `RGX_NATIVE is "${native}"; expected 1, or 0 to switch native kernels off`,
    );
  }
  if (target !== "" && !(TARGETS as readonly string[]).includes(target)) {
    throw new UsageError(`RGX_TARGET is "${target}"; expected one of ${TARGETS.join(", ")}`);
  }
  if (native === "0") return { codes: [], why: "switched off by RGX_NATIVE=0" };
  if (target === "wasm") return { codes: [], why: "chosen by RGX_TARGET=wasm" };
  const libraries = nativeLibraries();
  if (target === "") return libraries;
  const codes = libraries.codes.filter((code) => code.target === target);
  if (codes.length > 0) return { codes, why: "" };
  const here = libraries.codes.map((code) => code.target).join(", ");
  throw new UsageError(
    `RGX_TARGET is "${target}", which cannot be had here: ` +
      (here === "" ? libraries.why : `this processor has ${here} and wasm`),
  );
}

async function choose(
  open: (code: NativeCode | null) => Device,
  codes: readonly NativeCode[],
): Promise<NativeChoice> {
  const wasm = open(null), differences: string[] = [];
  try {
    for (const code of codes) {
      const native = open(code), tiles = `${VECTORS[code.target]} tiles`;
      try {
        const difference = await findDifference(wasm, native);
        if (difference !== null) {
          differences.push(`${tiles} gave other bits for ${difference}`);
          continue;
        }
      } finally {
        native.close();
      }
      const { bf16, text: bf16Text } = await chooseBf16(open, wasm, code);
      const reason = differences.length > 0 ? ` (${differences.join("; ")})` : "";
      return { code: { ...code, bf16 }, text: `${tiles}${reason}`, bf16Text };
    }
    return wasmTiles(differences.join("; "));
  } finally {
    wasm.close();
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
    const name = bf16 === "tiles" ? `${VECTORS[code.target]} tiles` : BF16_NAMES[bf16];
    try {
      const difference = await findDifference(wasm, native, "bfloat16") ??
        await findDifference(wasm, native, "float16");
      if (difference === null) return { bf16, text: name };
      why = `${name} gave other bits for ${difference}`;
    } finally {
      native.close();
    }
  }
  return { bf16: null, text: `WASM (${why})` };
}

/** The choices among libraries that were made, by their paths. */
const chosen = new Map<string, Promise<NativeChoice>>();

/**
 * The choice, which is made at the first call.
 * @param open makes a CPU device of one thread, with a native library or without
 */
export async function nativeChoice(
  open: (code: NativeCode | null) => Device,
): Promise<NativeChoice> {
  const { codes, why } = wantedLibraries();
  if (codes.length === 0) return wasmTiles(why);
  const key = codes.map(({ path }) => path).join();
  const choice = chosen.get(key) ?? choose(open, codes);
  chosen.set(key, choice);
  return await choice;
}
