/** Measuring kernels on a card (a software adapter here): only right ones are chosen. */
import assert from "node:assert/strict";
import type { WebgpuDevice } from "../devices/webgpu/device.ts";
import { testOnWebgpu } from "../devices/webgpu/testing.ts";
import type { RecordedCall } from "../ops/common/recorded_call.ts";
import { upload } from "../testing.ts";
import { difference, tuneCall } from "./tune_call.ts";

/** The call of a product, as an operation makes it. */
async function productOf(device: WebgpuDevice, flags: object): Promise<RecordedCall> {
  const [m, n, k] = [40, 20, 64];
  const a = upload(device, new Float32Array(m * k)), b = upload(device, new Float32Array(n * k));
  const out = upload(device, Float32Array.of(...Array(m * n).keys()));
  const [call] = await device.rehearse(async () => {
    device.run("matmul", { a, b, out, m, n, k, transB: true, ...flags });
    assert.deepEqual(await device.read(out), new Float32Array(m * n), "nothing is read");
  });
  assert.equal((await device.read(out))[7], 7, "nothing was computed");
  for (const tensor of [a, b, out]) device.free(tensor);
  return call!;
}

const untried = { budgetMs: 1, deadline: Infinity, bad: {}, trying: () => {} };

testOnWebgpu("a wrong kernel is found, and never chosen", {}, async (device) => {
  const call = await productOf(device, { accumulate: true });
  assert.equal(call.class, "matmul 64x32x64 nt f32");
  assert.equal(call.count, 1);
  const dispatch = device.dispatch.bind(device);
  device.dispatch = (call) =>
    dispatch(
      call.kernel.name === "matmul.16x64x64s4"
        ? { ...call, params: { ...call.params, alpha: 1.01 } }
        : call,
    );
  const tried: string[] = [];
  // Most candidates are left out, because a software adapter takes a second to compile each.
  const names = ["tile 32x32 4x4 k16 s1", "tile 64x16 4x4 k64 s4", "tile 16x64 4x4 k64 s4"];
  const bad = new Proxy<Record<string, string>>({}, {
    get: (_, name) => name === "plain" || names.includes(String(name)) ? undefined : "left out",
  });
  const tuned = await tuneCall(device, call, {
    ...untried,
    bad,
    trying: (name) => tried.push(name),
    reopen: () => Promise.reject(new Error("no kernel was refused")),
  });
  assert.deepEqual(tried.toSorted(), ["plain", ...names].sort());
  const found = new Map(tuned.candidates.map((candidate) => [candidate.name, candidate]));
  assert.match(found.get(names[2]!)!.wrong!, /^out: element \d+ of part 0 is .*, expected /);
  assert.equal(found.get(names[2]!)!.ms, null);
  for (const name of names.slice(0, 2)) {
    assert.equal(found.get(name)!.wrong, null);
    assert.ok(found.get(name)!.ms! > 0);
  }
  assert.equal(tuned.rule, names[0]);
  assert.ok(names.slice(0, 2).includes(tuned.choice));
});

Deno.test("results differ where one is further away than the tolerance, or not a number", () => {
  const of = (...values: number[]) => new Map([["out", [Float32Array.of(...values)]]]);
  const within = { absolute: 0.1, relative: 0.01 };
  assert.equal(difference(of(1, 100.9), of(1, 100), within), null);
  assert.match(difference(of(1, 101.5), of(1, 100), within)!, /element 1 of part 0 is 101.5/);
  assert.match(difference(of(NaN), of(0), within)!, /is NaN/);
  assert.match(difference(of(0), of(NaN), within)!, /expected NaN/);
});
