import assert from "node:assert/strict";
import { withFolder } from "../../core/testing.ts";
import { type CpuFeatures, featuresOfArm, featuresOfX86 } from "./cpu.ts";
import { type Libc, openOn, type System } from "./library.ts";

/** A C library whose file in memory is never a real one. */
const LIBC: Libc = {
  memfd_create: () => 1234,
  write: (_descriptor, bytes) => bytes.length,
  close: () => 0,
};

const AVX2: CpuFeatures = {
  target: "avx2",
  dots: true,
  vnni: false,
  bf16: "tiles",
  prefetches: false,
};
const AVX512: CpuFeatures = {
  target: "avx512",
  dots: true,
  vnni: false,
  bf16: "amx",
  prefetches: true,
};

/** A system on which everything works, unless parts are replaced. */
function system(parts: Partial<System>, libc: Partial<Libc> = {}): System {
  return {
    os: "linux",
    arch: "x86_64",
    mayOpen: () => true,
    cache: () => null,
    libc: () => ({ symbols: { ...LIBC, ...libc }, close: () => {} }),
    features: () => [AVX2],
    ...parts,
  };
}

function whyNot(parts: Partial<System>, libc: Partial<Libc> = {}): string {
  const opened = openOn(system(parts, libc));
  assert.deepEqual(opened.codes, []);
  return opened.why;
}

Deno.test("where everything works, each library of the processor is a file in memory", () => {
  const lengths: number[] = [];
  const write: Libc["write"] = (_descriptor, bytes) => (lengths.push(bytes.length), bytes.length);
  let next = 1234;
  const opened = openOn(
    system({ features: () => [AVX512, AVX2] }, { memfd_create: () => next++, write }),
  );
  assert.deepEqual(opened.codes, [
    { path: "/proc/self/fd/1235", ...AVX512 },
    { path: "/proc/self/fd/1234", ...AVX2 },
  ]);
  assert.notEqual(lengths[0], lengths[1]);
});

Deno.test("without files in memory, the library is a checked file in the cache", () =>
  withFolder((cache) => {
    let closed = -1;
    const full: Partial<Libc> = { write: () => 0, close: (descriptor) => closed = descriptor };
    for (const libc of [{ memfd_create: () => -1 }, full]) {
      assert.match(whyNot({}, libc), /there is no home folder for a copy of them/);
      const { codes: [code] } = openOn(system({ cache: () => cache }, libc));
      assert.ok(code!.path.startsWith(`${cache}/kernels/`));
      // Another content is replaced before it is opened.
      const bytes = Deno.readFileSync(code!.path);
      Deno.writeFileSync(code!.path, bytes.map((byte, i) => i === 5000 ? byte ^ 1 : byte));
      assert.equal(openOn(system({ cache: () => cache }, libc)).codes[0]!.path, code!.path);
      assert.deepEqual(Deno.readFileSync(code!.path), bytes);
    }
    assert.equal(closed, 1234);
  }));

Deno.test("macOS and Windows have libraries of their own, under names of their own", () =>
  withFolder((cache) => {
    const neon = () => featuresOfArm(1n << 1n);
    for (
      const [parts, end, magic] of [
        [{ os: "darwin", arch: "aarch64", features: neon }, ".dylib", [0xcf, 0xfa, 0xed, 0xfe]],
        [{ os: "windows", features: () => [AVX512, AVX2] }, ".dll", [0x4d, 0x5a]],
      ] as const
    ) {
      const { codes } = openOn(system({ ...parts, cache: () => cache }));
      assert.equal(codes.length, 1);
      assert.ok(codes[0]!.path.endsWith(end));
      assert.deepEqual([...Deno.readFileSync(codes[0]!.path).subarray(0, magic.length)], magic);
    }
  }));

Deno.test("an old system that does not know MFD_EXEC is asked without it", () => {
  const asked: number[] = [];
  const opened = openOn(system({}, {
    memfd_create: (_name, flags) => (asked.push(flags), asked.length === 1 ? -1 : 7),
  }));
  assert.deepEqual(asked, [0x11, 0x01]);
  assert.equal(opened.codes[0]!.path, "/proc/self/fd/7");
});

Deno.test("a library that is written piece by piece is complete", () => {
  const counts: number[] = [];
  const opened = openOn(system({}, {
    write: (_descriptor, bytes) => (counts.push(bytes.length), Math.min(bytes.length, 100_000)),
  }));
  assert.equal(opened.codes.length, 1);
  assert.ok(counts.every((count, i) => i === 0 || count === counts[i - 1]! - 100_000));
  assert.ok(counts.at(-1)! <= 100_000);
});

Deno.test("a system that does not map files in memory as code says so", () => {
  const features = () => {
    throw new TypeError("failed to map segment from shared object\n  and more");
  };
  assert.equal(
    whyNot({ features }),
    "the system does not open them: failed to map segment from shared object",
  );
  const libc = () => {
    throw new Error("libc.so.6: cannot open shared object file");
  };
  assert.match(whyNot({ libc }), /^the system does not open them: libc\.so\.6/);
});

Deno.test("other systems, missing permissions and older processors are named", () => {
  assert.equal(whyNot({ os: "darwin" }), "there are none for darwin on x86_64");
  assert.equal(whyNot({ mayOpen: () => false }), "they need the permission --allow-ffi");
  const features = () => [];
  assert.equal(whyNot({ features }), "this processor has no AVX2");
  assert.equal(whyNot({ features, arch: "aarch64" }), "this processor has no NEON");
  assert.equal(whyNot({ arch: "riscv64" }), "there are none for linux on riscv64");
});

/** A processor with AVX-512 and AVX512-VNNI, unless registers are replaced. */
function processor(
  { leaves = 13, ecx1 = 0x38001000, ebx7 = 0xd0030128, ecx7 = 1 << 11, state = 0xe7, ...amx }: {
    [register: string]: number;
  },
) {
  const { subleaves = 0, edx7 = 0, eax71 = 0, refused = 0, name = 0x68747541 } = amx;
  return featuresOfX86({
    cpuid: (leaf, subleaf, register) => {
      if (leaf === 0) return register === 0 ? leaves : name;
      if (leaf === 1) return ecx1;
      if (subleaf === 1) return eax71;
      return [subleaves, ebx7, ecx7, edx7][register]!;
    },
    xgetbv0: () => state,
    ask_for_amx: () => refused,
  });
}

Deno.test("AVX-512 and AVX2 need the processor's instructions and the system's registers", () => {
  const avx512 = { ...AVX512, bf16: null, prefetches: false };
  assert.deepEqual(processor({}), [avx512, AVX2]);
  assert.deepEqual(processor({ ecx7: 0 }), [{ ...avx512, dots: false }, AVX2]);
  assert.deepEqual(processor({ subleaves: 1, eax71: 1 << 4 })[1], { ...AVX2, vnni: true });
  assert.equal(processor({ name: 0x756e6547 })[0]!.prefetches, true, "GenuineIntel");
  assert.deepEqual(processor({ leaves: 6 }), []);
  for (const bit of [12, 27, 28, 29]) {
    assert.deepEqual(processor({ ecx1: 0x38001000 & ~(1 << bit) }), [], `without bit ${bit}`);
  }
  assert.deepEqual(processor({ state: 0x03 }), [], "the system saves SSE registers only");
  assert.deepEqual(processor({ state: 0x07 }), [AVX2], "the system saves AVX registers only");
  for (const bit of [16, 17, 28, 30, 31]) {
    assert.deepEqual(processor({ ebx7: 0xd0030128 & ~(1 << bit) }), [AVX2], `without bit ${bit}`);
  }
  for (const bit of [3, 5, 8]) {
    assert.deepEqual(processor({ ebx7: 0xd0030128 & ~(1 << bit) }), [], `without bit ${bit}`);
  }
});

Deno.test("on ARM64 the system tells the processor's instructions, and the library is another", () => {
  const neon: CpuFeatures = {
    target: "neon",
    dots: false,
    vnni: false,
    bf16: "tiles",
    prefetches: false,
  };
  assert.deepEqual(featuresOfArm(0n), []);
  assert.deepEqual(featuresOfArm(1n << 1n), [neon]);
  assert.deepEqual(featuresOfArm(1n << 1n | 1n << 20n), [{ ...neon, dots: true }]);
  const lengths: number[] = [];
  const write: Libc["write"] = (_descriptor, bytes) => (lengths.push(bytes.length), bytes.length);
  const arm = openOn(system({ arch: "aarch64", features: () => [neon] }, { write }));
  assert.deepEqual(arm.codes, [{ path: "/proc/self/fd/1234", ...neon }]);
  openOn(system({}, { write }));
  assert.notEqual(lengths[0], lengths[1]);
});

Deno.test("bfloat16 takes AMX where the system gives its registers, else AVX512-BF16", () => {
  const amx = { subleaves: 1, edx7: 1 << 22 | 1 << 24, eax71: 1 << 5, state: 0x600e7 };
  assert.equal(processor(amx)[0]!.bf16, "amx");
  assert.equal(processor({ ...amx, refused: -1 })[0]!.bf16, "avx512", "Linux refuses");
  assert.equal(processor({ ...amx, state: 0xe7 })[0]!.bf16, "avx512", "registers are not saved");
  assert.equal(processor({ ...amx, edx7: 1 << 24 })[0]!.bf16, "avx512", "tiles without bfloat16");
  assert.equal(processor({ ...amx, eax71: 0 })[0]!.bf16, null, "packing takes AVX512-BF16");
  assert.equal(processor({ ...amx, subleaves: 0 })[0]!.bf16, null, "an older processor");
});
