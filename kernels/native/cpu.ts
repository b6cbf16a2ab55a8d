/** Finds out which instructions the native kernels may use. */

const SYMBOLS = {
  cpuid: { parameters: ["u32", "u32", "u32"], result: "u32" },
  xgetbv0: { parameters: [], result: "u32" },
} as const;

/** Registers of CPUID. */
const EBX = 1, ECX = 2;
/** Bit of ECX of leaf 1: the system saves the registers that XCR0 names. */
const OSXSAVE = 27;
/** Bits of XCR0: SSE, AVX, and the three parts of the AVX-512 registers. */
const AVX512_STATE = 0xe6;
/** Bits of EBX of leaf 7: AVX512F, DQ, CD, BW and VL (the level x86-64-v4). */
const AVX512 = [16, 17, 28, 30, 31];

/** Bit of ECX of leaf 7: AVX512-VNNI, products of bytes. */
const AVX512_VNNI = 11;

/** What the processor and the system have. */
export interface CpuFeatures {
  /** All of AVX-512 that the level x86-64-v4 asks for. */
  avx512: boolean;
  /** Products of bytes, four at a time; only with `avx512`. */
  vnni: boolean;
}

const NOTHING: CpuFeatures = { avx512: false, vnni: false };

/** The functions of cpu.c. */
export interface Instructions {
  cpuid(leaf: number, subleaf: number, register: number): number;
  xgetbv0(): number;
}

/** What these instructions tell. */
export function featuresOf({ cpuid, xgetbv0 }: Instructions): CpuFeatures {
  if (cpuid(0, 0, 0) < 7) return NOTHING;
  if ((cpuid(1, 0, ECX) >>> OSXSAVE & 1) === 0) return NOTHING;
  if ((xgetbv0() & AVX512_STATE) !== AVX512_STATE) return NOTHING;
  const features = cpuid(7, 0, EBX);
  if (!AVX512.every((bit) => (features >>> bit & 1) === 1)) return NOTHING;
  return { avx512: true, vnni: (cpuid(7, 0, ECX) >>> AVX512_VNNI & 1) === 1 };
}

/** Asks the processor. @param library path of the native library */
export function cpuFeatures(library: string): CpuFeatures {
  const opened = Deno.dlopen(library, SYMBOLS);
  try {
    return featuresOf(opened.symbols);
  } finally {
    opened.close();
  }
}
