/**
 * Native code has no bounds checks, and the WASM kernels run without them. So the kernels must
 * touch nothing but their results: all tensors are views between guard words, which must not
 * change. The conformance suite shows the same for its cases; here are random products, and numbers
 * that are no usual ones.
 */
import assert from "node:assert/strict";
import type { RandomStream } from "../../core/philox.ts";
import { builtInKernels, createWasmDevice, WasmDevice } from "../devices/wasm/device.ts";
import type { ComputeDtype } from "../ops/common/compute_dtype.ts";
import { INT8_ACTIVATIONS } from "../ops/matmul/spec.ts";
import { blockOf, storedWords, WEIGHT_TYPES } from "../weights/types.ts";
import { normals, sameBits, stream } from "../testing.ts";
import { execute } from "../conformance/runner_testing.ts";
import type { OpName } from "../ops/ops.ts";
import type { HostArray } from "../tensor.ts";
import { someOf } from "../../tests/cases.ts";
import { NEEDED, needs } from "../../tests/skipped.ts";
import { checks } from "./check_cases.ts";
import { nativeLibraries } from "./library.ts";

/** A case of any operation, with host arrays in place of tensors. */
interface GuardedCase {
  op: OpName;
  args: Record<string, HostArray | number | boolean | string>;
}

/** Runs an operation between guard words. @returns the content of all tensors after it */
const run = (device: WasmDevice, test: GuardedCase) => execute(device, test as never, "view");

function labelOf({ op, args }: GuardedCase): string {
  const plain = Object.entries(args).filter(([, value]) => typeof value !== "object");
  return `${op} ${JSON.stringify(Object.fromEntries(plain))}`;
}

/** A device with another unit for bfloat16 than the first one that the processor has. */
async function withUnit(bf16: "avx512"): Promise<WasmDevice> {
  const code = { ...nativeLibraries().codes[0]!, bf16 };
  return new WasmDevice(await builtInKernels(), 1, { code, text: "AVX-512 tiles", bf16Text: bf16 });
}

/**
 * Runs cases on both kinds of kernels, which must give the same bits. (A NaN has several patterns,
 * of which processors do not always take the same.)
 */
async function compare(
  cases: readonly GuardedCase[],
  computeDtype: ComputeDtype = "float32",
  unit: "avx512" | null = null,
): Promise<void> {
  const wasm = await createWasmDevice({ threads: 1, native: false });
  const native = unit === null ? await createWasmDevice({ threads: 2 }) : await withUnit(unit);
  wasm.computeDtype = native.computeDtype = computeDtype;
  try {
    for (const one of someOf(cases)) {
      const expected = await run(wasm, one), found = await run(native, one);
      for (const [name, values] of expected) {
        const other = found.get(name)!;
        if (sameBits(other, values)) continue;
        const at = values.findIndex((value, i) => !Object.is(value, other[i]));
        assert.ok(at < 0, `${labelOf(one)}, ${name}[${at}]: ${other[at]}, not ${values[at]}`);
      }
    }
  } finally {
    wasm.close();
    native.close();
  }
}

function randomShape(random: RandomStream) {
  const size = () => random.choice([1, random.int(1, 20), random.int(1, 130), random.int(1, 400)]);
  const shape = { m: size(), n: size(), k: size(), accumulate: random.chance(0.5) };
  if (random.chance(0.1)) { // few rows, of lengths that need no packing
    return { ...shape, m: random.int(1, 9), n: 4 * shape.n, k: 8 * shape.k, transB: true };
  }
  if (random.chance(0.05)) { // long sums of a narrow operand, as in the gradients of adapters
    const narrow = random.choice([16, random.int(1, 20)]), wide = random.int(1, 200);
    const [m, n] = random.chance(0.5) ? [narrow, wide] : [wide, narrow];
    return { ...shape, m, n, k: random.int(100, 1400), transA: true, transB: false };
  }
  if (random.chance(0.4)) {
    return { ...shape, transA: random.chance(0.5), transB: random.chance(0.5) };
  }
  const weightType = random.choice(WEIGHT_TYPES), block = blockOf(weightType);
  const whole = (x: number) => Math.ceil(x / block) * block;
  if (random.chance(0.3)) return { ...shape, n: whole(shape.n), weightType };
  const m = random.chance(0.4) ? random.int(1, 2) : shape.m;
  const bytes = INT8_ACTIVATIONS.includes(weightType) && random.chance(0.5);
  const stored = { ...shape, m, k: whole(shape.k), transB: true, weightType };
  return bytes ? { ...stored, activations: "int8" as const } : stored;
}

function product(shape: ReturnType<typeof randomShape>): GuardedCase {
  const { m, n, k } = shape, random = stream(JSON.stringify(shape));
  const float = () => random.uniform(-1, 1);
  const type = "weightType" in shape ? shape.weightType : undefined;
  const transB = "transB" in shape && shape.transB === true;
  const b = type === undefined ? Float32Array.from({ length: n * k }, float) : Uint32Array.from(
    { length: transB ? storedWords(type, n, k) : storedWords(type, k, n) },
    () => (random.u32() & 0xbfffbfff) >>> 0,
  );
  const floats = (length: number) => Float32Array.from({ length }, float);
  const args = { a: floats(m * k), b, out: floats(m * n), ...shape };
  if (random.chance(0.6)) return { op: "matmul", args };
  const r = random.int(1, 40);
  return { op: "matmul", args: { ...args, xa: floats(m * r), loraB: floats(n * r), r } };
}

Deno.test("products of random shapes write only their result, with the same bits", async () => {
  const random = stream("guards");
  await compare(Array.from({ length: 600 }, () => product(randomShape(random))));
});

/**
 * An operand of several megabytes, with more rows than a row block has or with many terms. The
 * chunks of two threads begin within row blocks, and some reach into the next one.
 */
Deno.test("groups of panels, and parts of the terms, give the same bits", async () => {
  const plain = { transA: false, transB: false, accumulate: true };
  await compare([
    product({ m: 200, n: 700, k: 800, ...plain }),
    product({ m: 60, n: 140, k: 4200, ...plain }),
  ]);
});

/** Products in bfloat16, some of which have huge and tiny numbers among the others. */
function bf16Products(): GuardedCase[] {
  const random = stream("guards of bfloat16");
  // Products of many rows are divided in another way.
  const manyRows = (shape: Partial<ReturnType<typeof randomShape>>) => ({
    ...randomShape(random),
    transA: false,
    transB: false,
    weightType: undefined,
    activations: undefined,
    m: random.int(1020, 1100),
    n: random.int(1, 70),
    k: random.int(1, 80),
    ...shape,
  });
  const shapes = [
    ...Array.from({ length: 300 }, () => randomShape(random)),
    ...Array.from({ length: 8 }, (_, i) => manyRows({ transB: i % 2 === 1 })),
    manyRows({ transA: true }),
    manyRows({ n: 256, weightType: "q4_k" }),
    manyRows({ k: 64, weightType: "q8_0", transB: true }),
  ];
  const cases = shapes.map((shape) => product(shape));
  for (const { args: { a, b } } of cases) {
    for (const values of [a, b]) {
      if (!(values instanceof Float32Array) || random.chance(0.7)) continue;
      for (let i = random.int(1, 9); i > 0; i--) {
        values[random.below(values.length)] = random.choice([...SPECIAL, 2 ** -56, 2 ** -57]);
      }
    }
  }
  return cases;
}

Deno.test("the same in bfloat16, with the first unit that the processor has", async () => {
  await compare(bf16Products(), "bfloat16");
});

Deno.test("the same in bfloat16, with AVX512-BF16 where the processor has it", {
  ignore: needs((nativeLibraries().codes[0]?.bf16 ?? null) !== null, NEEDED.bf16),
}, async () => {
  await compare(bf16Products(), "bfloat16", "avx512");
});

function draws(random: RandomStream): GuardedCase {
  const rows = random.int(1, 12), vocab = random.choice([random.int(1, 40), random.int(1, 700)]);
  const n = rows * vocab, floats = (count: number) => normals(random, count);
  const sample = {
    logits: floats(n).map((x) => 4 * x),
    logp: floats(rows),
    rows,
    vocab,
    ...(random.chance(0.5) ? { scored: floats(n) } : {}),
    counters: Uint32Array.from({ length: 5 * rows }, () => random.u32()),
    tokens: new Uint32Array(rows),
    temperature: random.choice([0, 0.6, 1, 1.7]),
    ...(random.chance(0.2) ? { topK: 3, topP: 0.9, minP: 0.01 } : { topK: 0, topP: 1, minP: 0 }),
  };
  return { op: "sample", args: sample };
}

Deno.test("draws from random rows write only their results, with the same bits", async () => {
  const random = stream("guards of rows");
  await compare(Array.from({ length: 30 }, () => draws(random)));
});

Deno.test("the operations of the check at the start write only their results", async () => {
  await compare([...checks()] as unknown as GuardedCase[]);
});

const SPECIAL = [NaN, Infinity, -Infinity, -0, 1e-42, -1e-42, 3e38, -3e38, 1e-30];

/**
 * The operations of that check with such numbers among the others, three times: but products, and
 * the codes of moments, which are not the same everywhere where a gradient is infinite.
 */
function specialCases(): GuardedCase[] {
  const random = stream("special numbers");
  return [...checks(), ...checks(), ...checks()].flatMap(({ op, args }) => {
    if (op === "matmul" || op === "adamw_8bit") return [];
    const changed = Object.entries(args as GuardedCase["args"]).map(([name, value]) => {
      if (!(value instanceof Float32Array) || value.length === 0) return [name, value];
      const values = value.slice();
      for (let i = random.int(0, 2); i > 0; i--) {
        values[random.below(values.length)] = random.choice(SPECIAL);
      }
      return [name, values];
    });
    return [{ op, args: Object.fromEntries(changed) }];
  });
}

Deno.test("infinite, huge, tiny numbers and NaN give the same results", async () => {
  const random = stream("special draws");
  await compare([
    ...specialCases(),
    ...Array.from({ length: 30 }, () => draws(random)),
  ]);
});
