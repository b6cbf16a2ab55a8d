/** Measuring kernels on a card (a software adapter here): only right ones are chosen. */
import assert from "node:assert/strict";
import { attentionCases, attentionDecodeCases } from "../conformance/cases/attention_testing.ts";
import { type Case, execute, type HostArgs, testCase } from "../conformance/runner_testing.ts";
import type { WebgpuDevice } from "../devices/webgpu/device.ts";
import { testOnWebgpu } from "../devices/webgpu/testing.ts";
import type { AttentionForwardArgs } from "../ops/attention/spec.ts";
import type { RecordedCall } from "../ops/common/recorded_call.ts";
import { upload, zeros } from "../testing.ts";
import { chosen, difference, tuneCall } from "./tune_call.ts";

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

const untried = {
  budgetMs: 1,
  deadline: Infinity,
  bad: {},
  trying: () => {},
  wrong: () => {},
};

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
  const tried: string[] = [], wrong: string[] = [];
  // Most candidates are left out, because a software adapter takes a second to compile each.
  const names = ["tile 32x32 4x4 k16 s1", "tile 64x16 4x4 k64 s4", "tile 16x64 4x4 k64 s4"];
  const bad = new Proxy<Record<string, string>>({}, {
    get: (_, name) => names.includes(String(name)) ? undefined : "left out",
  });
  const tuned = await tuneCall(device, call, {
    ...untried,
    bad,
    trying: (name) => tried.push(name),
    wrong: (name) => wrong.push(name),
    reopen: () => Promise.reject(new Error("no kernel was refused")),
  });
  assert.deepEqual(tried.toSorted(), names.toSorted());
  assert.deepEqual(wrong, names.slice(2));
  const found = new Map(tuned.candidates.map((candidate) => [candidate.name, candidate]));
  assert.match(found.get(names[2]!)!.wrong!, /^out: element \d+ of part 0 is .*, expected /);
  assert.equal(found.get(names[2]!)!.ms, null);
  for (const name of names.slice(0, 2)) {
    assert.equal(found.get(name)!.wrong, null);
    assert.ok(found.get(name)!.ms! > 0);
  }
  assert.equal(tuned.rule, names[0]);
  assert.ok(names.slice(0, 2).includes(tuned.choice));
  // Where the rule's own cannot be used, the others are held against the next one.
  const again = await tuneCall(device, call, {
    ...untried,
    bad: new Proxy<Record<string, string>>({}, {
      get: (_, name) => names.slice(1).includes(String(name)) ? undefined : "left out",
    }),
    reopen: () => Promise.reject(new Error("no kernel was refused")),
  });
  assert.equal(again.choice, names[1]);
});

Deno.test("results differ where one is further away than the tolerance, or not a number", () => {
  const of = (...values: number[]) => new Map([["out", [Float32Array.of(...values)]]]);
  const within = { absolute: 0.1, relative: 0.01 };
  assert.equal(difference(of(1, 100.9), of(1, 100), within), null);
  assert.match(difference(of(1, 101.5), of(1, 100), within)!, /element 1 of part 0 is 101.5/);
  assert.match(difference(of(NaN), of(0), within)!, /is NaN/);
  assert.match(difference(of(0), of(NaN), within)!, /expected NaN/);
});

Deno.test("the fastest right kernel is chosen, and the rule's where no other is clearly faster", () => {
  const choice = (...times: (number | null)[]) =>
    chosen(
      "",
      times.map((ms, i) => ({ name: `${i}`, ms, wrong: ms === null ? "other bits" : null })),
    ).choice;
  assert.deepEqual(
    [choice(10, 5, 4), choice(10, 9.9), choice(10, 12), choice(null, 12, 11), choice(10, null)],
    ["2", "0", "0", "2", "0"],
  );
});

/** A case of the conformance suite by the beginning of its name, or the first. */
const caseOf = (cases: readonly Case[], name = "") => cases.find((c) => c.name.startsWith(name))!;

testOnWebgpu("every choice of kernels can be measured", {}, async (device) => {
  const attention = caseOf(attentionCases(), "[[2,");
  const sizes = attention.args as unknown as AttentionForwardArgs, { q, k } = sizes;
  const cases = [
    attention,
    testCase("attention_backward", "", {
      ...attention.args as HostArgs<"attention_backward">,
      dout: zeros(q.length),
      dq: zeros(q.length),
      dk: zeros(k.length),
      dv: zeros(k.length),
    }, {}),
    caseOf(attentionDecodeCases(), "5 branches, prompt 90, new 40, heads 6,2,64"),
  ];
  const calls = await device.rehearse(async () => {
    for (const test of cases) await execute(device, test);
  });
  const measured = new Set<string>();
  for (const call of calls) {
    if (measured.has(call.point) || call.point === "matmul") continue;
    measured.add(call.point);
    let others = 0;
    const tuned = await tuneCall(device, call, {
      ...untried,
      // The rule's and one other: a software adapter takes a second to compile each.
      bad: new Proxy<Record<string, string>>({}, {
        get: () => others++ > 2 ? "left out" : undefined,
      }),
      reopen: () => Promise.reject(new Error("no kernel was refused")),
    });
    const [rule, other] = tuned.candidates;
    assert.equal(rule!.wrong, null, `${call.class}: ${rule!.name}`);
    // Without another one there is nothing to measure.
    if (other === undefined) assert.equal(rule!.ms, null);
    else assert.ok(rule!.ms! > 0);
    if (other !== undefined && other.wrong !== "left out") {
      assert.equal(other.wrong, null, `${call.class}: ${other.name}`);
    }
  }
  assert.deepEqual(
    [...measured].sort(),
    [
      "attention",
      "attention_backward.keys",
      "attention_backward.queries",
      "attention_decode.branch",
      "attention_decode.prefix",
    ],
  );
});
