/** The CPU device: memory, views, threads, failures of kernels. */
import { strict as assert } from "node:assert";
import { RgxError, UsageError } from "../../../core/errors.ts";
import { refusal } from "../../../core/testing.ts";
import { Allocator } from "./allocator.ts";
import { createWasmDevice } from "./device.ts";
import { WasmMemory } from "./memory.ts";
import { failingKernels } from "./testing.ts";
import { defaultThreads } from "./threads.ts";

Deno.test("the allocator reuses, splits and merges blocks", () => {
  const allocator = new Allocator(100);
  assert.equal(allocator.allocate(1), undefined);
  allocator.grow(128 + 64 * 10);
  const a = allocator.allocate(64)!, b = allocator.allocate(65)!, c = allocator.allocate(0)!;
  assert.deepEqual([a, b, c], [128, 192, 320]);
  allocator.free(b);
  assert.equal(allocator.allocate(60), 192, "best fit takes the gap");
  allocator.free(a);
  allocator.free(192);
  allocator.free(c);
  assert.throws(() => allocator.free(c), RangeError);
  assert.equal(allocator.missing(64 * 10), 0);
  assert.equal(allocator.allocate(64 * 10), 128, "all gaps have joined");
  assert.equal(allocator.missing(64), 64);
  assert.equal(allocator.fresh, 128 + 64 * 10);
});

Deno.test("random allocations never overlap, and the freed blocks merge to one", () => {
  const allocator = new Allocator(0);
  const size = 1 << 20;
  allocator.grow(size);
  const live = new Map<number, number>();
  let state = 1;
  const random = (n: number) => (state = Math.imul(state, 48271) % 0x7fffffff >>> 0) % n;
  for (let step = 0; step < 5000; step++) {
    if (live.size > 40 || (live.size > 0 && random(3) === 0)) {
      const start = [...live.keys()][random(live.size)]!;
      allocator.free(start);
      live.delete(start);
      continue;
    }
    const bytes = 1 + random(20000);
    const start = allocator.allocate(bytes);
    if (start === undefined) continue;
    assert.equal(start % 64, 0);
    for (const [other, length] of live) {
      assert.ok(start >= other + length || start + bytes <= other);
    }
    live.set(start, bytes);
  }
  for (const start of live.keys()) allocator.free(start);
  assert.equal(allocator.allocate(size), 0);
});

Deno.test("memory use stays constant when steps repeat, and bytes are counted", async () => {
  using device = await createWasmDevice({ threads: 1 });
  const step = () => {
    const tensors = [1000, 5, 70_000, 64, 1000].map((n, i) => device.create("float", n, `t${i}`));
    const addresses = tensors.map((tensor) => device.pointer(tensor));
    assert.equal(device.allocatedBytes, 4 * 72_069);
    for (const i of [3, 0, 4, 1, 2]) device.free(tensors[i]!);
    return addresses;
  };
  const first = step();
  for (let i = 0; i < 2000; i++) assert.deepEqual(step(), first);
  assert.equal(device.allocatedBytes, 0);
  assert.equal(device.peakBytes, 4 * 72_069);
  device.resetPeak();
  assert.equal(device.peakBytes, 0);
});

Deno.test("the host reads and writes the elements of a tensor directly", async () => {
  using device = await createWasmDevice({ threads: 2 });
  const whole = device.create("float", 200, "whole"), part = whole.view(64, 100);
  device.write(part, Float32Array.from({ length: 100 }, (_, i) => i));
  const direct = device.direct!(part);
  assert.deepEqual([direct.length, direct[99]], [100, 99]);
  direct[3] = 7;
  device.run("add", { a: part, b: part, out: part, n: 100 });
  assert.equal((await device.read(whole, 67, 1))[0], 14);
  assert.equal(device.direct!(part)[3], 14);
});

Deno.test("memory grows on demand, and running out names the tensor and its size", async () => {
  using device = await createWasmDevice({ threads: 1 });
  const big = device.create("float", 100 << 20, "big");
  device.write(big, Float32Array.of(3), (100 << 20) - 1);
  assert.deepEqual(await device.read(big, (100 << 20) - 2), Float32Array.of(0, 3));
  assert.throws(
    () => device.create("float", 1000 << 20, "layers.7.mlp.gate"),
    refusal(/4\.19 GB for "layers\.7\.mlp/),
  );
  const after = device.create("float", 10, "still works");
  device.free(after);
  device.free(big);
});

Deno.test("no block ends at the last 32-bit address", () => {
  const memory = new WasmMemory();
  let end = 0;
  for (let bytes = 2 ** 30; bytes >= 64;) {
    try {
      end = Math.max(end, memory.allocate(bytes, "all there is") + bytes);
    } catch (error) {
      if (!(error instanceof RgxError)) throw error;
      bytes /= 2;
    }
  }
  assert.ok(end > 2 ** 31 && end < 2 ** 32, `${end}`);
});

Deno.test("every unit of a job is run, for many threads and few units", async () => {
  for (const threads of [2, 5, 18]) {
    const device = await createWasmDevice({ threads });
    await device.ready();
    const maxUnits = 4000, data = device.create("float", 16 * maxUnits, "data");
    const ones = new Float32Array(16 * maxUnits).fill(1);
    for (const units of [1, 2, 3, 7, 17, 18, 19, 40, 333, maxUnits - 1]) {
      for (const grain of [1, 2, 16, 100, Infinity]) {
        device.write(data, ones);
        device.parallel({ kernel: "zero", units, grain, args: { target: data } });
        const left = (await device.read(data) as Float32Array).indexOf(1);
        assert.equal(left, 16 * units, `${threads} threads, ${units} units of ${grain}`);
      }
    }
    device.close();
  }
});

Deno.test("threads see memory that grew after they started", async () => {
  using device = await createWasmDevice({ threads: 3 });
  await device.ready();
  for (let i = 0; i < 60; i++) {
    const n = 64 * 20_000;
    const x = device.create("float", n, "x");
    device.f32(x).fill(1);
    device.parallel({ kernel: "zero", units: n / 16, grain: 100, args: { target: x } });
    assert.ok(device.f32(x).every((value) => value === 0));
  }
});

Deno.test("a kernel that traps in any thread is named in the error", async () => {
  const module = await failingKernels();
  for (const threads of [1, 3]) {
    const device = await createWasmDevice({ threads, module });
    await device.ready();
    for (let unit = 0; unit < 50; unit++) {
      assert.throws(
        () => device.parallel({ kernel: "fail_at", units: 50, grain: 1, args: { at: unit } }),
        (error) => error instanceof RgxError && /"fail_at" failed: .*unreachable/.test(`${error}`),
      );
    }
    device.parallel({ kernel: "fail_at", units: 50, grain: 1, args: { at: 50 } });
    device.close();
  }
});

Deno.test("a kernel that traps only in a worker does not block the caller", async () => {
  using device = await createWasmDevice({ threads: 2, module: await failingKernels() });
  await device.ready();
  const job = { args: { at: device.create("u32", 16, "at") }, scratchBytes: 64 };
  device.parallel({ ...job, kernel: "remember", units: 1, grain: 1 });
  assert.throws(
    () => {
      // The worker may be too late for one job, but not for all.
      for (let i = 0; i < 200; i++) {
        device.parallel({ ...job, kernel: "fail_elsewhere", units: 64, grain: 1 });
      }
    },
    refusal(/"fail_elsewhere" failed/),
  );
});

Deno.test("no work is lost when jobs follow one another quickly", async () => {
  for (const threads of [2, 3, 5]) {
    const device = await createWasmDevice({ threads });
    await device.ready();
    const n = 64 * 100;
    const ones = new Float32Array(n).fill(1);
    const x = device.create("float", n, "x");
    for (let i = 0; i < 3000; i++) {
      device.f32(x).set(ones);
      device.parallel({ kernel: "zero", units: n / 16, grain: 1 + i % 7, args: { target: x } });
      if (device.f32(x).some((value) => value !== 0)) assert.fail(`job ${i} is incomplete`);
    }
    device.free(x);
    device.close();
  }
});

Deno.test("a job with invalid units or grain is an error, and the next one runs", async () => {
  using device = await createWasmDevice({ threads: 2 });
  const x = device.create("float", 64, "x"), args = { target: x };
  const good = { kernel: "zero", units: 4, grain: 1, args };
  for (
    const wrong of [{ units: NaN }, { units: -1 }, { units: 1.5 }, { units: 2 ** 31 }, {
      grain: NaN,
    }, { grain: -1 }]
  ) {
    const job = { ...good, ...wrong };
    assert.throws(() => device.parallel(job), /"zero" cannot have .* units in chunks of/);
  }
  device.f32(x).fill(1);
  device.parallel(good);
  assert.ok(device.f32(x).every((value) => value === 0));
});

Deno.test("a wrong kernel name is an error", async () => {
  using device = await createWasmDevice({ threads: 1 });
  assert.throws(() => device.parallel({ kernel: "nothing", units: 1, grain: 1, args: {} }));
});

Deno.test("an invalid number of threads is refused", async () => {
  for (const threads of [0, 1.5, 1025, Infinity]) {
    await assert.rejects(() => createWasmDevice({ threads }), /with 1 to 1024/);
  }
});

Deno.test("the number of threads comes from the environment, else from the machine", () => {
  const from = (env: Record<string, string>) => defaultThreads((name) => env[name], 6);
  assert.equal(from({}), 6);
  assert.equal(from({ OMP_NUM_THREADS: "3" }), 3);
  assert.equal(from({ OMP_NUM_THREADS: "3", SLURM_CPUS_PER_TASK: "4" }), 4);
  assert.equal(from({ RGX_NUM_THREADS: "2", SLURM_CPUS_PER_TASK: "4" }), 2);
  assert.equal(from({ OMP_NUM_THREADS: "4,2" }), 6);
  // Without -c, SLURM only reports the job's cores on the node.
  const job = { SLURM_JOB_ID: "1", SLURM_CPUS_ON_NODE: "5", OMP_NUM_THREADS: "3" };
  assert.equal(from(job), 5);
  assert.equal(from({ ...job, SLURM_CPUS_PER_TASK: "4" }), 4);
  assert.throws(() => from({ RGX_NUM_THREADS: "0" }), UsageError);
});

Deno.test("a tensor that is larger than the caches is filled to its end, and no further", async () => {
  using device = await createWasmDevice({ threads: 2 });
  const n = 2 ** 23 + 131, x = device.create("float", n + 1, "x");
  device.run("fill", { out: x.view(0, n), n, value: 3 });
  const found = device.f32(x);
  assert.equal(found.findIndex((value) => value !== 3), n);
});
