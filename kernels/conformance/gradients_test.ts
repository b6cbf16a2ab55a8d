/**
 * Compares every backward with central differences of its forward, on the float64 reference device.
 * The loss is L = Σ r·outputs for a random r, the step is 1e−6·max(1, |x|), and errors are relative
 * to the largest derivative. Attention has a file of its own, attention_gradients_test.ts.
 */
import assert from "node:assert/strict";
import type { HostArray } from "../tensor.ts";
import { NO_STATE, stateSize } from "../ops/delta_rule/spec.ts";
import { NO_ROW } from "../ops/short_conv/spec.ts";
import { convolutionTables } from "../ops/short_conv/tables.ts";
import { assertWithin, largest } from "../testing.ts";
import { deltaInputs } from "./cases/delta_rule_testing.ts";
import { type BackwardCase, checkBackward, empty, random64, run } from "./gradients_testing.ts";

/** Asserts that a gradient is the same where the backward makes fewer of them. */
function assertSame(found: HostArray, expected: HostArray, what: string): void {
  assertWithin(found, expected, 1e-14 * Math.max(1, largest(expected)), what);
}

Deno.test("the gradients of a linear layer are matrix products", async () => {
  const m = 5, n = 4, k = 7;
  const x = random64("x", m * k), w = random64("w", n * k), dy = random64("dy", m * n);
  const layer = {
    forward: "matmul",
    inputs: { a: x, b: w, m, n, k, transB: true },
    outputs: { out: m * n },
    weights: { out: dy },
    backward: "matmul",
  } as const;
  const more = () => ({ a: dy, b: w, m, n: k, k: n, transB: false });
  await checkBackward({ ...layer, more, of: [["out", "a"]] });
  const ofW = { a: dy, b: x, m: n, n: k, k: m, transB: false, transA: true, accumulate: true };
  await checkBackward({ ...layer, more: () => ofW, of: [["out", "b"]], adds: ["out"] });
});

Deno.test("rmsnorm_backward is the gradient of rmsnorm", async () => {
  for (const [rows, d, offset] of [[1, 1, 0], [1, 5, 0], [4, 7, 1], [3, 16, 0]] as const) {
    const x = random64("norm x", rows * d), weight = random64("norm w", d);
    const dout = random64("norm dout", rows * d), inputs = { x, weight, rows, d, offset };
    const { found, back } = await checkBackward({
      forward: "rmsnorm",
      inputs: { ...inputs, eps: 1e-5 },
      outputs: { out: rows * d, rho: rows },
      weights: { out: dout },
      backward: "rmsnorm_backward",
      more: ({ rho }) => ({ dout, rho, accumulate: true, ...(d > 1 ? {} : { dx: empty(1) }) }),
      // With d = 1 the output is nearly constant: dx is of the order of eps.
      of: [...(d > 1 ? [["dx", "x"] as const] : []), ["dweight", "weight"]],
      adds: ["dx", "dweight"],
    });
    const frozen = { ...inputs, dout, rho: found.rho!, dx: empty(rows * d) };
    const { dx } = Object.fromEntries(await run("rmsnorm_backward", frozen));
    assertSame(dx!, back.dx!, "dx without accumulate");
  }
});

Deno.test("layernorm_backward and add_bias_backward are gradients", async () => {
  for (const [rows, d] of [[1, 5], [4, 7], [3, 16]] as const) {
    const x = random64("layernorm x", rows * d), weight = random64("layernorm w", d);
    const bias = random64("layernorm b", d), dout = random64("layernorm dout", rows * d);
    const layer = {
      forward: "layernorm",
      inputs: { x, weight, bias, rows, d, eps: 1e-5 },
      outputs: { out: rows * d, mean: rows, rho: rows },
      weights: { out: dout },
    } as const;
    const { found, back } = await checkBackward({
      ...layer,
      backward: "layernorm_backward",
      more: ({ mean, rho }) => ({ dout, mean, rho, accumulate: true }),
      of: [["dx", "x"], ["dweight", "weight"]],
      adds: ["dx", "dweight"],
    });
    await checkBackward({
      ...layer,
      backward: "add_bias_backward",
      more: () => ({ dout }),
      of: [["dbias", "bias"]],
      adds: ["dbias"],
    });
    const { mean, rho } = found, sizes = { rows, d };
    const frozen = { dout, x, weight, mean: mean!, rho: rho!, dx: empty(rows * d), ...sizes };
    const { dx } = Object.fromEntries(await run("layernorm_backward", frozen));
    assertSame(dx!, back.dx!, "dx without accumulate");
  }
});

Deno.test("gelu_backward is the gradient of gelu", async () => {
  const n = 33, x = random64("gelu x", n, 2), dout = random64("gelu dout", n);
  x[0] = -40;
  x[1] = 40;
  const { found, back } = await checkBackward({
    forward: "gelu",
    inputs: { x, n },
    outputs: { out: n },
    weights: { out: dout },
    backward: "gelu_backward",
    more: () => ({ dout, activated: empty(n) }),
    of: [["dx", "x"]],
  });
  assert.deepEqual(back.activated, found.out);
});

Deno.test("soft_cap_backward is the gradient of soft_cap", async () => {
  const n = 33, x = random64("cap x", n, 3), dout = random64("cap dout", n);
  await checkBackward({
    forward: "soft_cap",
    inputs: { x, n, cap: 2 },
    outputs: { out: n },
    weights: { out: dout },
    backward: "soft_cap_backward",
    more: ({ out: y }) => ({ dout, y }),
    of: [["dx", "x"]],
  });
});

Deno.test("short_conv_backward is the gradient of short_conv over a prompt and branches", async () => {
  const previous = Uint32Array.from([NO_ROW, 0, 1, 2, 2, 4, 2, NO_ROW, 7]), d = 3;
  const rows = previous.length, n = rows * d;
  for (const taps of [2, 3, 5]) {
    const { before, ...reverse } = convolutionTables(previous, taps);
    const x = random64("conv x", n), weight = random64("conv weight", d * taps);
    const gate = random64("conv gate", n), dout = random64("conv dout", n);
    await checkBackward({
      forward: "short_conv",
      inputs: { x, table: x, before, weight, gate, rows, d, taps },
      outputs: { out: n },
      weights: { out: dout },
      backward: "short_conv_backward",
      more: () => ({ ...reverse, dout }),
      of: [["dx", "x"], ["dgate", "gate"], ["dweight", "weight"]],
      adds: ["dweight"],
    });
  }
});

Deno.test("route_backward is the gradient of the gates and of the mean probabilities", async () => {
  const rows = 4, experts = 5, chosen = 2, places = rows * chosen;
  const logits = random64("route logits", rows * experts), dgates = random64("dgates", places);
  const balance = random64("balance", experts), u32 = (n: number) => new Uint32Array(n);
  const tables = { rowOf: u32(places), placeOf: u32(places), expertOf: u32(places) };
  for (const normalize of [true, false]) {
    await checkBackward({
      forward: "route",
      inputs: { logits, rows, experts, chosen, normalize },
      outputs: { gates: places, ...tables, begin: u32(experts + 1) },
      weights: { gates: dgates },
      loss() {
        let sum = 0;
        for (let row = 0; row < rows; row++) {
          const p = logits.slice(row * experts, (row + 1) * experts).map(Math.exp);
          const total = p.reduce((sum, x) => sum + x);
          sum += p.reduce((sum, x, e) => sum + x * balance[e]!, 0) / total;
        }
        return sum;
      },
      backward: "route_backward",
      more: ({ gates, placeOf, expertOf }) => ({ gates, placeOf, expertOf, dgates, balance }),
      of: [["dlogits", "logits"]],
    });
  }
});

Deno.test("delta_rule_backward is the gradient of delta_rule over prompts and branches", async () => {
  const segments: [number, number, number, number][] = [
    [0, 4, NO_STATE, 0],
    [4, 6, NO_STATE, 1],
    [6, 9, 0, NO_STATE],
    [9, 10, 0, NO_STATE],
    [10, 12, 1, NO_STATE],
  ];
  for (const sizes of [[1, 1, 3, 2], [2, 4, 2, 3]] as const) {
    const { state: _, dout, ...floats } = deltaInputs("gradients", { segments, roots: 2 }, sizes);
    const exact = Object.fromEntries(
      (["x", "a", "b", "aLog", "dtBias"] as const).map((name) => [
        name,
        Float64Array.from(floats[name]),
      ]),
    );
    const { rows, valueHeads } = floats, gates = rows * valueHeads;
    const ofHeads = (each: HostArray) =>
      Float64Array.from(
        { length: valueHeads },
        (_, head) => [...each].reduce((sum, x, i) => i % valueHeads === head ? sum + x : sum, 0),
      );
    await checkBackward({
      forward: "delta_rule",
      inputs: { ...floats, ...exact, roots: 2 },
      outputs: { out: dout.length, state: 2 * stateSize(floats) },
      weights: { out: dout },
      backward: "delta_rule_backward",
      more: () => ({ dout: Float64Array.from(dout), states: 2, longest: 4, dlog: empty(gates) }),
      of: [
        ["dx", "x"],
        ["da", "a"],
        ["db", "b"],
        ["dlog", "aLog", ofHeads],
        // The bias of a head is added to each of its a.
        ["da", "dtBias", ofHeads],
      ],
    });
  }
});

Deno.test("the inverse rotation is the gradient of rope", async () => {
  const rows = 4, heads = 2, headDim = 10, rotaryDim = 6, half = rotaryDim / 2, maxPositions = 9;
  const angles = random64("angles", maxPositions * half, 3);
  const x = random64("rope x", rows * heads * headDim), dout = random64("rope dout", x.length);
  await checkBackward({
    forward: "rope",
    inputs: {
      x,
      cos: angles.map(Math.cos),
      sin: angles.map(Math.sin),
      positions: Uint32Array.from([0, 8, 3, 3]),
      rows,
      heads,
      headDim,
      rotaryDim,
    },
    outputs: {},
    weights: { x: dout },
    backward: "rope",
    more: () => ({ x: dout, inverse: true }),
    of: [["x", "x", (dx) => dx]],
  });
});

Deno.test("swiglu_backward is the gradient of swiglu", async () => {
  const n = 33;
  const gate = random64("gate", n, 3), up = random64("up", n), dout = random64("swiglu dout", n);
  gate[0] = -40;
  gate[1] = 40;
  for (const option of [{}, { gelu: true }, { limit: 1.3 }]) {
    await checkBackward({
      forward: "swiglu",
      inputs: { gate, up, n, ...option },
      outputs: { out: n },
      weights: { out: dout },
      backward: "swiglu_backward",
      more: () => ({ dout }),
      of: [["dgate", "gate"], ["dup", "up"]],
    });
  }
});

const HEAD = {
  pairStart: Uint32Array.from([0, 3, 3, 4]),
  targets: Uint32Array.from([2, 2, 8, 0]),
  rows: 3,
  pairs: 4,
  vocab: 9,
  d: 5,
};

/** The gradients of the log-probabilities, and with `entropy` of the entropies. */
async function checkHead(
  more: Record<string, unknown>,
  entropy: boolean,
  of: BackwardCase["of"],
  adds: readonly string[],
) {
  const { rows, pairs, vocab, d } = HEAD;
  const hidden = random64("head hidden", rows * d), weight = random64("head weight", vocab * d);
  const dlogp = random64("head dlogp", pairs), dentropy = random64("head dentropy", rows);
  const inputs = { ...HEAD, hidden, weight, ...more }, ofEntropy = entropy ? { dentropy } : {};
  const all = await checkBackward({
    forward: "head",
    inputs,
    outputs: { logp: pairs, lse: rows, entropy: rows },
    weights: { logp: dlogp, ...(entropy ? { entropy: dentropy } : {}) },
    backward: "head_backward",
    more: ({ lse, entropy }) => ({ lse, entropy, dlogp, ...ofEntropy }),
    of,
    adds,
  });
  return { ...all, inputs, dlogp };
}

Deno.test("head_backward is the gradient of log-probabilities and entropies", async () => {
  for (const [temperature, softCap] of [[1], [0.7], [0.7, 1.1]] as const) {
    const options = { temperature, ...(softCap === undefined ? {} : { softCap }) };
    const of = [["dhidden", "hidden"], ["dweight", "weight"]] as const;
    await checkHead(options, true, of, ["dweight"]);
    const { inputs, dlogp, back } = await checkHead(options, false, of, ["dweight"]);
    if (softCap !== undefined) continue;
    const { rows, pairs, d } = HEAD, args = { ...inputs, temperature };
    const outputs = { logp: empty(pairs), entropy: empty(rows), lse: empty(rows) };
    const found = await run("head", { ...args, ...outputs, mean: empty(rows * d) });
    const [lse, entropy, mean] = ["lse", "entropy", "mean"].map((name) => found.get(name)!);
    const frozen = { lse: lse!, entropy: entropy!, mean: mean!, dlogp, dhidden: empty(rows * d) };
    const fromMean = await run("head_backward", { ...args, ...frozen });
    assertSame(fromMean.get("dhidden")!, back.dhidden!, "dhidden from the mean");
  }
});

Deno.test("head_backward is the gradient by the adapter of the head", async () => {
  const { rows, vocab } = HEAD, r = 2;
  const adapter = { xa: random64("lora xa", rows * r), loraB: random64("lora b", vocab * r), r };
  const of = [["dhidden", "hidden"], ["dxa", "xa"], ["dloraB", "loraB"]] as const;
  await checkHead({ ...adapter, loraScale: 1.5, temperature: 0.7 }, true, of, ["dloraB"]);
});

Deno.test("scatter_add_rows is the gradient of gather_rows", async () => {
  const d = 3, table = random64("table", 5 * d), dout = random64("gather dout", 4 * d);
  await checkBackward({
    forward: "gather_rows",
    inputs: { table, index: Uint32Array.from([4, 0, 4, 2]), rows: 4, d },
    outputs: { out: 4 * d },
    weights: { out: dout },
    backward: "scatter_add_rows",
    more: () => ({
      src: dout,
      order: Uint32Array.from([1, 3, 0, 2]),
      runs: Uint32Array.from([0, 1, 2, 4]),
      target: Uint32Array.from([0, 2, 4]),
      runCount: 3,
    }),
    of: [["table", "table"]],
  });
});

Deno.test("adamw takes PyTorch's steps", async () => {
  // The steps of torch.optim.AdamW(lr 0.1, betas 0.9 0.99, eps 1e-8, weight_decay 0.01).
  const lr = 0.1, beta1 = 0.9, beta2 = 0.99, eps = 1e-8, weightDecay = 0.01;
  let param: HostArray = Float64Array.from([1, -2, 0.5]), m: HostArray = empty(3);
  let v: HostArray = empty(3);
  const want = [1, -2, 0.5], wantM = [0, 0, 0], wantV = [0, 0, 0];
  for (let step = 1; step <= 3; step++) {
    const grad = Float64Array.from([0.3 * step, -4, 0]), gradScale = 0.5;
    const after: Map<string, HostArray> = await run("adamw", {
      param,
      grad,
      m,
      v,
      n: 3,
      lr,
      beta1,
      beta2,
      eps,
      weightDecay,
      gradScale,
      correction1: 1 - beta1 ** step,
      correction2: 1 - beta2 ** step,
    });
    [param, m, v] = [after.get("param")!, after.get("m")!, after.get("v")!];
    for (let i = 0; i < 3; i++) {
      const g = grad[i]! * gradScale;
      want[i]! *= 1 - lr * weightDecay; // param.mul_(1 - lr * weight_decay)
      wantM[i]! += (g - wantM[i]!) * (1 - beta1); // exp_avg.lerp_(grad, 1 - beta1)
      wantV[i] = wantV[i]! * beta2 + (1 - beta2) * g * g; // mul_, addcmul_
      const stepSize = lr / (1 - beta1 ** step);
      const denominator = Math.sqrt(wantV[i]!) / Math.sqrt(1 - beta2 ** step) + eps;
      want[i]! -= stepSize * (wantM[i]! / denominator); // addcdiv_
    }
  }
  assertWithin(param, want, 1e-14, "param");
  assertWithin(m, wantM, 1e-14, "m");
  assertWithin(v, wantV, 1e-14, "v");
  // The first step has the size lr for any gradient.
  const first = await run("adamw", {
    param: Float64Array.of(1),
    grad: Float64Array.of(123),
    m: empty(1),
    v: empty(1),
    n: 1,
    lr,
    beta1,
    beta2,
    eps: 0,
    weightDecay: 0,
    gradScale: 1,
    correction1: 1 - beta1,
    correction2: 1 - beta2,
  });
  assertWithin(first.get("param")!, [0.9], 1e-14, "first step");
});
