/** Finds out which instructions the native kernels may use. */

const SYMBOLS = {
  cpuid: { parameters: ["u32", "u32", "u32"], result: "u32" },
  xgetbv0: { parameters: [], result: "u32" },
  ask_for_amx: { parameters: [], result: "i32" },
} as const;

/** Registers of CPUID. */
const EAX = 0, EBX = 1, ECX = 2, EDX = 3;
/** Bit of ECX of leaf 1: the system saves the registers that XCR0 names. */
const OSXSAVE = 27;
/** Bits of XCR0: SSE, AVX, and the three parts of the AVX-512 registers. */
const AVX512_STATE = 0xe6;
/** Bits of EBX of leaf 7: AVX512F, DQ, CD, BW and VL (the level x86-64-v4). */
const AVX512 = [16, 17, 28, 30, 31];

/** Bit of ECX of leaf 7: AVX512-VNNI, products of bytes. */
const AVX512_VNNI = 11;

/** Bit of EAX of leaf 7, subleaf 1: AVX512-BF16. */
const AVX512_BF16 = 5;
/** Bits of EDX of leaf 7: AMX-BF16 and AMX-TILE. */
const AMX = [22, 24];
/** Bits of XCR0: the registers of AMX. */
const AMX_STATE = 0x60000;

/** What the processor and the system have. */
export interface CpuFeatures {
  /** The vectors: all of AVX-512 that the level x86-64-v4 asks for, or NEON. */
  vectors: boolean;
  /** Dot products of bytes, four at a time: AVX512-VNNI, or NEON's. Only with `vectors`. */
  dots: boolean;
  /** What multiplies numbers in bfloat16; null = nothing. Only with `vectors`. */
  bf16: "amx" | "avx512" | null;
  /**
   * Whether rows from memory come sooner with prefetch instructions than with plain reads.
   * Measured: on Intel's processors they do, on AMD's not.
   */
  prefetches: boolean;
}

const NOTHING: CpuFeatures = { vectors: false, dots: false, bf16: null, prefetches: false };

/** "Genu", which begins the name of Intel's processors: EBX of leaf 0. */
const INTEL = 0x756e6547;

/** The functions of cpu.c. */
export interface Instructions {
  cpuid(leaf: number, subleaf: number, register: number): number;
  xgetbv0(): number;
  /** Asks the system for the registers of AMX, for this process. @returns 0 when it gives them */
  ask_for_amx(): number;
}

/** What these instructions of an x86-64 processor tell. */
export function featuresOfX86({ cpuid, xgetbv0, ask_for_amx }: Instructions): CpuFeatures {
  if (cpuid(0, 0, 0) < 7) return NOTHING;
  if ((cpuid(1, 0, ECX) >>> OSXSAVE & 1) === 0) return NOTHING;
  const state = xgetbv0();
  if ((state & AVX512_STATE) !== AVX512_STATE) return NOTHING;
  const features = cpuid(7, 0, EBX);
  if (!AVX512.every((bit) => (features >>> bit & 1) === 1)) return NOTHING;
  const has = (word: number, bit: number) => (word >>> bit & 1) === 1;
  // Packing takes AVX512-BF16 for AMX, too.
  const pairs = cpuid(7, 0, EAX) >= 1 && has(cpuid(7, 1, EAX), AVX512_BF16);
  const words = cpuid(7, 0, EDX);
  const tiles = pairs && AMX.every((bit) => has(words, bit)) &&
    (state & AMX_STATE) === AMX_STATE && ask_for_amx() === 0;
  return {
    vectors: true,
    dots: has(cpuid(7, 0, ECX), AVX512_VNNI),
    bf16: tiles ? "amx" : pairs ? "avx512" : null,
    prefetches: cpuid(0, 0, EBX) === INTEL,
  };
}

/** The entry of the auxiliary vector with the features of an ARM64 processor, and its bits. */
const AT_HWCAP = 16n, HWCAP_ASIMD = 1, HWCAP_ASIMDDP = 20;

/** What Linux reports of an ARM64 processor. @param hwcap the entry AT_HWCAP */
export function featuresOfArm(hwcap: bigint): CpuFeatures {
  const has = (bit: number) => (hwcap >> BigInt(bit) & 1n) === 1n;
  if (!has(HWCAP_ASIMD)) return NOTHING;
  return { ...NOTHING, vectors: true, dots: has(HWCAP_ASIMDDP) };
}

/** Asks the processor, or on ARM64 the system. @param library path of the native library */
export function cpuFeatures(arch: string, library: string): CpuFeatures {
  if (arch === "aarch64") {
    const libc = Deno.dlopen("libc.so.6", {
      getauxval: { parameters: ["u64"], result: "u64" },
    });
    try {
      return featuresOfArm(libc.symbols.getauxval(AT_HWCAP));
    } finally {
      libc.close();
    }
  }
  const opened = Deno.dlopen(library, SYMBOLS);
  try {
    return featuresOfX86(opened.symbols);
  } finally {
    opened.close();
  }
}
