/** Finds out which instructions the native kernels may use. */

const SYMBOLS = {
  cpuid: { parameters: ["u32", "u32", "u32"], result: "u32" },
  xgetbv0: { parameters: [], result: "u32" },
  ask_for_amx: { parameters: [], result: "i32" },
} as const;

/** Registers of CPUID. */
const EAX = 0, EBX = 1, ECX = 2, EDX = 3;
/** Bits of ECX of leaf 1: FMA, AVX and F16C; the system saves the registers that XCR0 names. */
const AVX = [12, 28, 29], OSXSAVE = 27;
/** Bits of EBX of leaf 7: BMI1, AVX2 and BMI2 (the rest of the level x86-64-v3 came earlier). */
const AVX2 = [3, 5, 8];
/** Bits of EBX of leaf 7: AVX512F, DQ, CD, BW and VL (the level x86-64-v4). */
const AVX512 = [16, 17, 28, 30, 31];
/** Bits of XCR0: SSE and AVX; the same and the three parts of the AVX-512 registers. */
const AVX_STATE = 0x06, AVX512_STATE = 0xe6;

/** Bit of ECX of leaf 7: AVX512-VNNI, products of bytes. */
const AVX512_VNNI = 11;

/** Bits of EAX of leaf 7, subleaf 1: AVX-VNNI, and AVX512-BF16. */
const AVX_VNNI = 4, AVX512_BF16 = 5;
/** Bits of EDX of leaf 7: AMX-BF16 and AMX-TILE. */
const AMX = [22, 24];
/** Bits of XCR0: the registers of AMX. */
const AMX_STATE = 0x60000;

/** The kinds of vectors that native kernels are compiled for. */
export type NativeTarget = "avx512" | "avx2" | "neon";

/** What the kernels of a target may use on this processor. */
export interface CpuFeatures {
  target: NativeTarget;
  /** Whether products of bytes are compiled for it: with AVX512-VNNI, AVX2, or NEON's. */
  dots: boolean;
  /** Whether AVX2 has one instruction for them (AVX-VNNI): Intel's 12th generation, AMD's Zen 5. */
  vnni: boolean;
  /** What multiplies numbers in bfloat16; null = nothing. */
  bf16: "amx" | "avx512" | "tiles" | null;
  /**
   * Whether rows from memory come sooner with prefetch instructions than with plain reads.
   * Measured: on Intel's processors they do, on AMD's not.
   */
  prefetches: boolean;
}

/** "Genu", which begins the name of Intel's processors: EBX of leaf 0. */
const INTEL = 0x756e6547;

/** The functions of cpu.c. */
export interface Instructions {
  cpuid(leaf: number, subleaf: number, register: number): number;
  xgetbv0(): number;
  /** Asks the system for the registers of AMX, for this process. @returns 0 when it gives them */
  ask_for_amx(): number;
}

/** What these instructions of an x86-64 processor tell of each of its targets, the best first. */
export function featuresOfX86({ cpuid, xgetbv0, ask_for_amx }: Instructions): CpuFeatures[] {
  const has = (word: number, bits: number[]) => bits.every((bit) => (word >>> bit & 1) === 1);
  if (cpuid(0, 0, EAX) < 7 || !has(cpuid(1, 0, ECX), [...AVX, OSXSAVE])) return [];
  const state = xgetbv0(), features = cpuid(7, 0, EBX);
  if ((state & AVX_STATE) !== AVX_STATE || !has(features, AVX2)) return [];
  const prefetches = cpuid(0, 0, EBX) === INTEL;
  const more = cpuid(7, 0, EAX) >= 1 ? cpuid(7, 1, EAX) : 0, vnni = has(more, [AVX_VNNI]);
  const avx2: CpuFeatures = { target: "avx2", dots: true, vnni, bf16: "tiles", prefetches };
  if ((state & AVX512_STATE) !== AVX512_STATE || !has(features, AVX512)) return [avx2];
  // Packing takes AVX512-BF16 for AMX, too.
  const pairs = has(more, [AVX512_BF16]);
  const tiles = pairs && has(cpuid(7, 0, EDX), AMX) && (state & AMX_STATE) === AMX_STATE &&
    ask_for_amx() === 0;
  const dots = has(cpuid(7, 0, ECX), [AVX512_VNNI]);
  const bf16 = tiles ? "amx" : pairs ? "avx512" : null;
  return [{ target: "avx512", dots, vnni: false, bf16, prefetches }, avx2];
}

/** The entry of the auxiliary vector with the features of an ARM64 processor, and its bits. */
const AT_HWCAP = 16n, HWCAP_ASIMD = 1, HWCAP_ASIMDDP = 20;

/** What Linux reports of an ARM64 processor. @param hwcap the entry AT_HWCAP */
export function featuresOfArm(hwcap: bigint): CpuFeatures[] {
  const has = (bit: number) => (hwcap >> BigInt(bit) & 1n) === 1n;
  if (!has(HWCAP_ASIMD)) return [];
  const dots = has(HWCAP_ASIMDDP);
  return [{ target: "neon", dots, vnni: false, bf16: "tiles", prefetches: false }];
}

/** What every ARM64 processor of Apple has. */
const APPLE = 1n << BigInt(HWCAP_ASIMD) | 1n << BigInt(HWCAP_ASIMDDP);

/** Asks the processor, or on ARM64 the system. @param library path of the native library */
export function cpuFeatures(arch: string, library: string): CpuFeatures[] {
  if (arch === "aarch64") {
    if (Deno.build.os === "darwin") return featuresOfArm(APPLE);
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
