/** Recorded operations give the same results as operations that run one after the other. */
import { strict as assert } from "node:assert";
import { RandomStream } from "../../../core/philox.ts";
import { RgxError } from "../../../core/errors.ts";
import { adjustLogitsCases } from "../../conformance/cases/adjust_logits_testing.ts";
import { attentionCases, attentionDecodeCases } from "../../conformance/cases/attention_testing.ts";
import { decodeLayerCases } from "../../conformance/cases/decode_layer_testing.ts";
import { rmsnormCases } from "../../conformance/cases/rmsnorm_testing.ts";
import { headCases } from "../../conformance/cases/head_testing.ts";
import { execute } from "../../conformance/runner_testing.ts";
import { storedCases } from "../../conformance/cases/stored_weights_testing.ts";
import type { Device } from "../../device.ts";
import type { HostArray, Tensor } from "../../tensor.ts";
import type { OpName, Ops } from "../../ops/ops.ts";
import { sameBits, upload } from "../../testing.ts";
import { createWasmDevice } from "./device.ts";
import { WasmMemory } from "./memory.ts";
import { failingKernels } from "./testing.ts";
import { ThreadPool } from "./thread_pool.ts";

/** Rows and columns: enough that threads share an operation. */
const N = 192;

/** Many operations on a few small tensors, so that most operations depend on others. */
function someWork(device: Device, tensors: readonly Tensor[], seed: number): () => void {
  const stream = new RandomStream(seed, 0, 0, 0), steps: (() => void)[] = [];
  const draw = (below: number) => stream.u32() % below;
  const pick = () => tensors[draw(tensors.length)]!;
  const another = (...taken: Tensor[]) => {
    const free = tensors.filter((tensor) => !taken.includes(tensor));
    return free[draw(free.length)]!;
  };
  for (let i = 0; i < 60; i++) {
    const a = pick(), b = another(a), out = another(a, b), n = N * N;
    switch (draw(5)) {
      case 0:
        steps.push(() => device.run("add", { a, b, out: a, n, scale: 0.5 }));
        break;
      case 1:
        steps.push(() => device.run("copy", { src: a, out: b, n }));
        break;
      case 2:
        // This needs two jobs and scratch, as b is packed first.
        steps.push(() =>
          device.run("matmul", { a, b, out, m: N, n: N, k: N, transB: true, alpha: 0.01 })
        );
        break;
      case 3:
        steps.push(() => device.run("swiglu", { gate: a, up: b, out: a, n }));
        break;
      default: {
        const half = a.view(n / 2, n / 2);
        steps.push(() => device.run("fill", { out: half, n: n / 2, value: 0.25 }));
      }
    }
  }
  return () => steps.forEach((step) => step());
}

Deno.test("threads that start while the memory grows can read programs in new memory", async () => {
  for (let round = 0; round < 30; round++) {
    const device = await createWasmDevice({ threads: 2 });
    let isUp = false;
    const up = device.ready().then(() => void (isUp = true));
    for (let i = 0; !isUp; i++) {
      if (i < 200) device.create("float", 2 ** 22, "room");
      await new Promise((resolve) => setTimeout(resolve, 3));
    }
    await up;
    const [a, b] = [device.create("float", N * N, "a"), device.create("float", N * N, "b")];
    device.write(a, new Float32Array(N * N).fill(1));
    const recording = device.record!(() => {
      device.run("copy", { src: a, out: b, n: N * N });
      device.run("add", { a: b, b: a, out: b, n: N * N, scale: 1 });
    })!;
    for (let i = 0; i < 20; i++) recording.run();
    assert.ok((await device.read(b)).every((value) => value === 2));
    device.close();
  }
});

Deno.test("recorded operations give the same bits as operations in sequence", async () => {
  const values = Array.from(
    { length: 7 },
    (_, t) => new Float32Array(N * N).map((_, i) => Math.sin(i + 99 * t)),
  );
  for (const threads of [1, 2, 5]) {
    const device = await createWasmDevice({ threads });
    await device.ready();
    for (let seed = 0; seed < (threads === 1 ? 3 : 12); seed++) {
      const tensors = values.map((given) => device.create("float", given.length, "t"));
      const reset = () => tensors.forEach((tensor, t) => device.write(tensor, values[t]!));
      const found = () => Promise.all(tensors.map((tensor) => device.read(tensor)));
      const work = someWork(device, tensors, seed);
      reset();
      work();
      work();
      const expected = await found();
      const recording = device.record!(work)!;
      reset();
      recording.run();
      recording.run();
      (await found()).forEach((values, t) => {
        assert.ok(sameBits(values, expected[t]!), `${threads} threads, seed ${seed}, tensor ${t}`);
      });
      recording.free();
      for (const tensor of tensors) device.free(tensor);
    }
    device.close();
  }
});

Deno.test("operations of all kinds give the same bits when they share stages", async () => {
  const all = [
    ...attentionCases(),
    ...attentionDecodeCases(),
    ...decodeLayerCases(),
    ...headCases(),
    ...adjustLogitsCases(),
    ...rmsnormCases(),
    ...await storedCases(true),
  ];
  // Operations in one stage are of different kinds. Their shapes matter less.
  const cases = all.filter((_, i) => i % 3 === 0);
  const order = cases.map((_, i) => cases[i * 389 % cases.length]!);
  assert.equal(new Set(order).size, cases.length);
  using alone = await createWasmDevice({ threads: 1 }),
    device = await createWasmDevice({ threads: 3 });
  await device.ready();
  for (let i = 0; i < order.length; i += 30) {
    const some = order.slice(i, i + 30), uploads = some.map(({ args }) => uploaded(device, args));
    const recording = device.record!(() => {
      some.forEach(({ op }, j) => device.run(op, uploads[j]!.args as Ops[OpName]));
    })!;
    recording.run();
    for (const [j, test] of some.entries()) {
      for (const [name, expected] of await execute(alone, test)) {
        const found = await device.read(uploads[j]!.args[name] as Tensor);
        assert.ok(sameBits(found, expected), `${test.op} ${test.name}: ${name}`);
      }
    }
    recording.free();
    for (const tensor of uploads.flatMap(({ tensors }) => tensors)) device.free(tensor);
  }
  device.close();
});

/** The arguments with tensors in place of arrays, and the list of these tensors. */
function uploaded(device: Device, args: object) {
  const tensors = new Map<HostArray, Tensor>();
  const concrete = Object.entries(args).map(([name, value]) => {
    if (!ArrayBuffer.isView(value)) return [name, value];
    const data = value as HostArray, tensor = tensors.get(data) ?? upload(device, data);
    tensors.set(data, tensor);
    return [name, tensor];
  });
  return { args: Object.fromEntries(concrete), tensors: [...tensors.values()] };
}

Deno.test("nothing runs during recording, and other device methods are refused", async () => {
  using device = await createWasmDevice({ threads: 2 });
  const x = device.create("float", N, "x"), y = device.create("float", N, "y");
  const recording = device.record!(() => device.run("fill", { out: x, n: N, value: 3 }))!;
  assert.ok((await device.read(x)).every((value) => value === 0));
  recording.run();
  assert.ok((await device.read(x)).every((value) => value === 3));
  assert.throws(() => device.record!(() => device.write(x, new Float32Array(N))), /recorded/);
  assert.throws(() => device.record!(() => device.free(y)), /recorded/);
  assert.throws(() => device.record!(() => void device.create("float", 1, "z")), /recorded/);
  assert.throws(() => device.record!(() => void device.record!(() => {})), /recorded/);
  // A refused argument does not change the device.
  assert.throws(() => device.record!(() => device.run("fill", { out: x, n: -1, value: 0 })));
  device.run("fill", { out: y, n: N, value: 4 });
  assert.ok((await device.read(y)).every((value) => value === 4));
});

Deno.test("freeing a tensor drops its recordings and frees their memory", async () => {
  using device = await createWasmDevice({ threads: 2 });
  const addresses = new Set<number>();
  for (let round = 0; round < 50; round++) {
    const [a, b, out] = ["a", "b", "out"].map((name) => device.create("float", N * N, name));
    addresses.add(device.pointer(out!));
    const product = () =>
      device.run("matmul", { a: a!, b: b!, out: out!, m: N, n: N, k: N, transB: true });
    const [freed, dropped] = [device.record!(product)!, device.record!(product)!];
    assert.ok(freed.isValid && dropped.isValid);
    dropped.free();
    dropped.free();
    assert.ok(!dropped.isValid);
    device.free(b!);
    assert.ok(!freed.isValid);
    assert.throws(() => freed.run(), /tensors are gone/);
    device.free(a!);
    device.free(out!);
  }
  assert.equal(addresses.size, 1, "every round finds the same memory");
});

Deno.test("hundreds of recordings share their scratch", async () => {
  using device = await createWasmDevice({ threads: 4 });
  const vocab = 2 ** 17, count = 200, big = 4 * vocab;
  const logits = device.create("float", big, "logits"), out = device.create("float", big, "out");
  const [counters, tokens] = [5, 1].map((width) => device.create("u32", width * count, "rows"));
  const logp = device.create("float", count, "logp"), before = device.reservedBytes;
  const recordings = Array.from({ length: count }, (_, i) =>
    device.record!(() => {
      // Private scratch of each thread, and scratch that all threads share.
      device.run("sample", {
        logits,
        counters: counters!,
        tokens: tokens!,
        logp,
        rows: 1 + i % 4,
        vocab,
        temperature: 1,
        topK: 0,
        topP: 1,
        minP: 0,
      });
      device.run("matmul", { a: logits, b: logits, out, m: 8, n: 1024 - i, k: 512 });
    })!);
  assert.ok(device.reservedBytes - before < 2 ** 26, `${device.reservedBytes - before} bytes`);
  for (const recording of recordings) recording.run();
  // The remaining recordings keep the scratch that they shared with others.
  const lone = recordings.pop()!;
  for (const recording of recordings) recording.free();
  lone.run();
  lone.free();
});

Deno.test("operations that read on the host or use outside weights are not recorded", async () => {
  using device = await createWasmDevice({ threads: 1, weightRoom: 0 });
  const table = device.create("float", N, "table", "weight"), x = device.create("float", N, "x");
  assert.equal(device.record!(() => device.run("copy", { src: table, out: x, n: N })), null);
  device.run("copy", { src: table, out: x, n: N });
});

Deno.test("when memory is short, operations are not recorded but still run", async () => {
  using device = await createWasmDevice({ threads: 2 });
  const x = device.create("float", N, "x");
  for (let length = 2 ** 29; length >= 16;) {
    try {
      device.create("float", length, "all there is");
    } catch (error) {
      if (!(error instanceof RgxError)) throw error;
      length /= 2;
    }
  }
  const fill = () => device.run("fill", { out: x, n: N, value: 3 });
  assert.equal(device.record!(fill), null);
  fill();
  assert.ok((await device.read(x)).every((value) => value === 3));
});

Deno.test("a trap in a program names the kernel in the error; the next run works", async () => {
  const code = { module: await failingKernels(), native: null };
  for (const threads of [1, 3]) {
    const memory = new WasmMemory(), pool = new ThreadPool(code, memory, threads);
    await pool.ready();
    const at = memory.allocate(64, "word"), word = () => memory.u32(at, 1);
    const job = (kernel: string, at: number) =>
      pool.place({ kernel, args: { at, target: at }, units: 50, grain: 1 }, () => 0);
    const program = (unit: number) => {
      const fails = [job("fail_at", unit), job("zero", 0)];
      const stages = [[job("zero", 0)], fails, [job("remember", at)]];
      const allocate = (bytes: number) => memory.allocate(bytes, "program");
      return pool.compile(stages, { address: 64, stride: 64 }, allocate);
    };
    const good = program(50);
    for (let unit = 0; unit < 50; unit++) {
      word()[0] = 0;
      const named = (error: unknown) => error instanceof RgxError && /"fail_at"/.test(`${error}`);
      assert.throws(() => pool.replay(program(unit)), named);
      assert.equal(word()[0], 0, "what follows is not run");
      pool.replay(good);
      assert.ok(word()[0]! > 0);
    }
    pool.close();
  }
});

Deno.test("a thread that cannot read a program causes an error, and no thread waits", async () => {
  const memory = new WasmMemory();
  const code = { module: await failingKernels(), native: null };
  const pool = new ThreadPool(code, memory, 3);
  await pool.ready();
  const at = memory.allocate(64, "word"), scratch = 128;
  // The kernel does not trap in the calling thread, whose scratch this is, and takes long there.
  memory.u32(at, 1)[0] = scratch;
  const job = (kernel: string) =>
    pool.place({ kernel, args: { at, target: at }, units: 64, grain: 1 }, () => 0);
  const allocate = (bytes: number) => memory.allocate(bytes, "program");
  const made = pool.compile([[job("fail_elsewhere")], [job("fail_elsewhere")]], {
    address: scratch,
    stride: 64,
  }, allocate);
  const program = { ...made, address: 4 }; // no place for 64-bit floats
  // A worker may be too late for one run, but not for all.
  const run = () => {
    for (let i = 0; i < 200; i++) pool.replay(program);
  };
  assert.throws(run, (error) => error instanceof RgxError && /without a plan/.test(`${error}`));
  pool.run(job("zero"), () => scratch);
  pool.close();
});
