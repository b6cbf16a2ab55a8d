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
import { checkGradient, dot, empty, random64, run } from "./gradients_testing.ts";

Deno.test("the gradients of a linear layer are matrix products", async () => {
  const m = 5, n = 4, k = 7;
  const x = random64("x", m * k), w = random64("w", n * k), dy = random64("dy", m * n);
  const loss = async () => {
    const { out } = Object.fromEntries(
      await run("matmul", { a: x, b: w, out: empty(m * n), m, n, k, transB: true }),
    );
    return dot(dy, out!);
  };
  const dx = await run("matmul", { a: dy, b: w, out: empty(m * k), m, n: k, k: n });
  await checkGradient("dx", x, dx.get("out")!, loss);
  const before = random64("before", n * k);
  const dw = await run("matmul", {
    a: dy,
    b: x,
    out: before,
    m: n,
    n: k,
    k: m,
    transA: true,
    accumulate: true,
  });
  await checkGradient("dW", w, dw.get("out")!.map((g, i) => g - before[i]!), loss);
});

Deno.test("rmsnorm_backward is the gradient of rmsnorm", async () => {
  for (const [rows, d, offset] of [[1, 1, 0], [1, 5, 0], [4, 7, 1], [3, 16, 0]] as const) {
    const sizes = { rows, d, offset }, eps = 1e-5;
    const x = random64("norm x", rows * d), weight = random64("norm w", d);
    const dout = random64("norm dout", rows * d);
    const forward = () =>
      run("rmsnorm", { x, weight, out: empty(rows * d), rho: empty(rows), ...sizes, eps });
    const loss = async () => dot(dout, (await forward()).get("out")!);
    const rho = (await forward()).get("rho")!;
    const dxBefore = random64("dx before", rows * d), dwBefore = random64("dw before", d);
    const backward = await run("rmsnorm_backward", {
      dout,
      x,
      weight,
      rho,
      dx: dxBefore,
      accumulate: true,
      dweight: dwBefore,
      ...sizes,
    });
    const dx = backward.get("dx")!.map((g, i) => g - dxBefore[i]!);
    const dweight = backward.get("dweight")!.map((g, i) => g - dwBefore[i]!);
    // With d = 1 the output is nearly constant: dx is of the order of eps.
    if (d > 1) await checkGradient("dx", x, dx, loss);
    await checkGradient("dweight", weight, dweight, loss);
    const frozen = await run("rmsnorm_backward", {
      dout,
      x,
      weight,
      rho,
      dx: empty(rows * d),
      ...sizes,
    });
    assertWithin(frozen.get("dx")!, dx, 1e-14 * Math.max(1, largest(dx)), "dx without accumulate");
  }
});

Deno.test("layernorm_backward and add_bias_backward are gradients", async () => {
  for (const [rows, d] of [[1, 5], [4, 7], [3, 16]] as const) {
    const sizes = { rows, d }, eps = 1e-5;
    const x = random64("layernorm x", rows * d), weight = random64("layernorm w", d);
    const bias = random64("layernorm b", d), dout = random64("layernorm dout", rows * d);
    const outputs = () => ({ out: empty(rows * d), mean: empty(rows), rho: empty(rows) });
    const forward = () => run("layernorm", { x, weight, bias, ...outputs(), ...sizes, eps });
    const loss = async () => dot(dout, (await forward()).get("out")!);
    const { mean, rho } = Object.fromEntries(await forward());
    const dxBefore = random64("dx before", rows * d), dwBefore = random64("dw before", d);
    const inputs = { dout, x, weight, mean: mean!, rho: rho!, ...sizes };
    const back = await run("layernorm_backward", {
      ...inputs,
      dx: dxBefore,
      accumulate: true,
      dweight: dwBefore,
    });
    const dx = back.get("dx")!.map((g, i) => g - dxBefore[i]!);
    await checkGradient("dx", x, dx, loss);
    await checkGradient(
      "dweight",
      weight,
      back.get("dweight")!.map((g, i) => g - dwBefore[i]!),
      loss,
    );
    const dbBefore = random64("db before", d);
    const ofBias = await run("add_bias_backward", { dout, dbias: dbBefore, ...sizes });
    await checkGradient("dbias", bias, ofBias.get("dbias")!.map((g, i) => g - dbBefore[i]!), loss);
    const frozen = await run("layernorm_backward", { ...inputs, dx: empty(rows * d) });
    assertWithin(frozen.get("dx")!, dx, 1e-14 * Math.max(1, largest(dx)), "dx without accumulate");
  }
});

Deno.test("gelu_backward is the gradient of gelu", async () => {
  const n = 33, x = random64("gelu x", n, 2), dout = random64("gelu dout", n);
  x[0] = -40;
  x[1] = 40;
  const loss = async () => dot(dout, (await run("gelu", { x, out: empty(n), n })).get("out")!);
  const back = await run("gelu_backward", { dout, x, dx: empty(n), activated: empty(n), n });
  await checkGradient("dx", x, back.get("dx")!, loss);
  assert.deepEqual(back.get("activated"), (await run("gelu", { x, out: empty(n), n })).get("out"));
});

Deno.test("soft_cap_backward is the gradient of soft_cap", async () => {
  const n = 33, cap = 2, x = random64("cap x", n, 3), dout = random64("cap dout", n);
  const forward = async () => (await run("soft_cap", { x, out: empty(n), n, cap })).get("out")!;
  const loss = async () => dot(dout, await forward());
  const back = await run("soft_cap_backward", { dout, y: await forward(), dx: empty(n), n, cap });
  await checkGradient("dx", x, back.get("dx")!, loss);
});

Deno.test("short_conv_backward is the gradient of short_conv over a prompt and branches", async () => {
  const previous = Uint32Array.from([NO_ROW, 0, 1, 2, 2, 4, 2, NO_ROW, 7]), d = 3;
  const rows = previous.length, n = rows * d;
  for (const taps of [2, 3, 5]) {
    const { before, after, users } = convolutionTables(previous, taps);
    const x = random64("conv x", n), weight = random64("conv weight", d * taps);
    const gate = random64("conv gate", n), dout = random64("conv dout", n);
    const shared = { x, before, weight, gate, rows, d, taps };
    const loss = async () =>
      dot(dout, (await run("short_conv", { ...shared, table: x, out: empty(n) })).get("out")!);
    const dwBefore = random64("conv before", d * taps);
    const back = await run("short_conv_backward", {
      ...shared,
      after,
      users,
      dout,
      dx: empty(n),
      dgate: empty(n),
      dweight: dwBefore,
    });
    await checkGradient("dx", x, back.get("dx")!, loss);
    await checkGradient("dgate", gate, back.get("dgate")!, loss);
    const dweight = back.get("dweight")!.map((g, i) => g - dwBefore[i]!);
    await checkGradient("dweight", weight, dweight, loss);
  }
});

Deno.test("route_backward is the gradient of the gates and of the mean probabilities", async () => {
  const rows = 4, experts = 5, chosen = 2, places = rows * chosen;
  const logits = random64("route logits", rows * experts), dgates = random64("dgates", places);
  const balance = random64("balance", experts), u32 = (n: number) => new Uint32Array(n);
  for (const normalize of [true, false]) {
    const shape = { logits, rows, experts, chosen, normalize };
    const forward = async () =>
      Object.fromEntries(
        await run("route", {
          ...shape,
          gates: empty(places),
          rowOf: u32(places),
          placeOf: u32(places),
          expertOf: u32(places),
          begin: u32(experts + 1),
        }),
      );
    const loss = async () => {
      let sum = dot(dgates, (await forward())["gates"]!);
      for (let row = 0; row < rows; row++) {
        const p = logits.slice(row * experts, (row + 1) * experts).map(Math.exp);
        sum += dot(p, balance) / p.reduce((sum, x) => sum + x);
      }
      return sum;
    };
    const { gates, placeOf, expertOf } = await forward() as Record<string, never>;
    const of = { gates: gates!, placeOf: placeOf!, expertOf: expertOf! };
    const dlogits = empty(rows * experts);
    const back = await run("route_backward", { ...shape, ...of, dgates, balance, dlogits });
    await checkGradient("dlogits", logits, back.get("dlogits")!, loss);
  }
});

Deno.test("delta_rule_backward is the gradient of delta_rule over prompts and branches", async () => {
  const tree = {
    segments: [
      [0, 4, NO_STATE, 0],
      [4, 6, NO_STATE, 1],
      [6, 9, 0, NO_STATE],
      [9, 10, 0, NO_STATE],
      [
        10,
        12,
        1,
        NO_STATE,
      ],
    ],
    roots: 2,
  } as const;
  for (const sizes of [[1, 1, 3, 2], [2, 4, 2, 3]] as const) {
    const { state: _, dout: given, ...floats } = deltaInputs("gradients", tree, sizes);
    const exact = (name: "x" | "a" | "b" | "aLog" | "dtBias") => Float64Array.from(floats[name]);
    const args = {
      ...floats,
      x: exact("x"),
      a: exact("a"),
      b: exact("b"),
      aLog: exact("aLog"),
      dtBias: exact("dtBias"),
    };
    const { rows, valueHeads } = args, gates = rows * valueHeads, dout = Float64Array.from(given);
    const state = empty(2 * stateSize(args)), n = dout.length;
    const loss = async () => {
      const forward = { ...args, roots: 2, state, out: empty(n) };
      return dot(dout, (await run("delta_rule", forward)).get("out")!);
    };
    const outputs = { da: empty(gates), db: empty(gates), dlog: empty(gates) };
    const back = await run("delta_rule_backward", {
      ...args,
      dout,
      dx: empty(args.x.length),
      ...outputs,
      states: 2,
      longest: 4,
    });
    const ofHeads = (each: HostArray) =>
      Float64Array.from(
        { length: valueHeads },
        (_, head) => [...each].reduce((sum, x, i) => i % valueHeads === head ? sum + x : sum, 0),
      );
    await checkGradient("dx", args.x, back.get("dx")!, loss);
    await checkGradient("da", args.a, back.get("da")!, loss);
    await checkGradient("db", args.b, back.get("db")!, loss);
    await checkGradient("daLog", args.aLog, ofHeads(back.get("dlog")!), loss);
    await checkGradient("ddtBias", args.dtBias, ofHeads(back.get("da")!), loss);
  }
});

Deno.test("the inverse rotation is the gradient of rope", async () => {
  const rows = 4, heads = 2, headDim = 10, rotaryDim = 6, half = rotaryDim / 2, maxPositions = 9;
  const angles = random64("angles", maxPositions * half, 3);
  const shared = {
    cos: angles.map(Math.cos),
    sin: angles.map(Math.sin),
    positions: Uint32Array.from([0, 8, 3, 3]),
    rows,
    heads,
    headDim,
    rotaryDim,
  };
  const x = random64("rope x", rows * heads * headDim), dout = random64("rope dout", x.length);
  const dx = await run("rope", { x: dout, ...shared, inverse: true });
  await checkGradient("dx", x, dx.get("x")!, async () => {
    return dot(dout, (await run("rope", { x, ...shared })).get("x")!);
  });
});

Deno.test("swiglu_backward is the gradient of swiglu", async () => {
  const n = 33;
  const gate = random64("gate", n, 3), up = random64("up", n), dout = random64("swiglu dout", n);
  gate[0] = -40;
  gate[1] = 40;
  for (const option of [{}, { gelu: true }, { limit: 1.3 }]) {
    const shared = { gate, up, n, ...option };
    const loss = async () =>
      dot(dout, (await run("swiglu", { ...shared, out: empty(n) })).get("out")!);
    const outputs = { dgate: empty(n), dup: empty(n) };
    const back = await run("swiglu_backward", { ...shared, dout, ...outputs });
    await checkGradient("dgate", gate, back.get("dgate")!, loss);
    await checkGradient("dup", up, back.get("dup")!, loss);
  }
});

Deno.test("head_backward is the gradient of log-probabilities and entropies", async () => {
  for (const [temperature, softCap] of [[1], [0.7], [0.7, 1.1]] as const) {
    const pairStart = Uint32Array.from([0, 3, 3, 4]), rows = 3, pairs = 4, vocab = 9, d = 5;
    const hidden = random64("head hidden", rows * d), weight = random64("head weight", vocab * d);
    const dlogp = random64("head dlogp", pairs), dentropy = random64("head dentropy", rows);
    const shared = {
      hidden,
      weight,
      pairStart,
      rows,
      pairs,
      vocab,
      d,
      temperature,
      ...(softCap === undefined ? {} : { softCap }),
      targets: Uint32Array.from([2, 2, 8, 0]),
    };
    const forward = () =>
      run("head", { ...shared, logp: empty(pairs), lse: empty(rows), entropy: empty(rows) });
    const { lse, entropy } = Object.fromEntries(await forward());
    const before = random64("head before", vocab * d);
    for (const withEntropy of [true, false]) {
      const loss = async () => {
        const out = await forward();
        const fromEntropy = withEntropy ? dot(dentropy, out.get("entropy")!) : 0;
        return dot(dlogp, out.get("logp")!) + fromEntropy;
      };
      const back = await run("head_backward", {
        ...shared,
        lse: lse!,
        entropy: entropy!,
        dlogp,
        ...(withEntropy ? { dentropy } : {}),
        dhidden: empty(rows * d),
        dweight: before,
      });
      await checkGradient("dhidden", hidden, back.get("dhidden")!, loss);
      const dweight = back.get("dweight")!.map((g, i) => g - before[i]!);
      await checkGradient("dweight", weight, dweight, loss);
    }
    if (softCap !== undefined) continue;
    const mean = empty(rows * d);
    const { lse: again, mean: means } = Object.fromEntries(
      await run("head", {
        ...shared,
        logp: empty(pairs),
        lse: empty(rows),
        entropy: empty(rows),
        mean,
      }),
    );
    const frozen = { ...shared, lse: again!, entropy: entropy!, dlogp, dhidden: empty(rows * d) };
    const full = (await run("head_backward", frozen)).get("dhidden")!;
    const fromMean = (await run("head_backward", { ...frozen, mean: means! })).get("dhidden")!;
    assertWithin(fromMean, full, 1e-14 * Math.max(1, largest(full)), "dhidden from the mean");
  }
});

Deno.test("head_backward is the gradient by the adapter of the head", async () => {
  const pairStart = Uint32Array.from([0, 3, 3, 4]), rows = 3, pairs = 4, vocab = 9, d = 5, r = 2;
  const hidden = random64("lora hidden", rows * d), weight = random64("lora weight", vocab * d);
  const xa = random64("lora xa", rows * r), loraB = random64("lora b", vocab * r);
  const dlogp = random64("lora dlogp", pairs), dentropy = random64("lora dentropy", rows);
  const shared = {
    hidden,
    weight,
    pairStart,
    rows,
    pairs,
    vocab,
    d,
    temperature: 0.7,
    xa,
    loraB,
    r,
    loraScale: 1.5,
    targets: Uint32Array.from([2, 2, 8, 0]),
  };
  const forward = () =>
    run("head", { ...shared, logp: empty(pairs), lse: empty(rows), entropy: empty(rows) });
  const loss = async () => {
    const out = await forward();
    return dot(dlogp, out.get("logp")!) + dot(dentropy, out.get("entropy")!);
  };
  const { lse, entropy } = Object.fromEntries(await forward());
  const before = random64("lora before", vocab * r);
  const back = await run("head_backward", {
    ...shared,
    lse: lse!,
    entropy: entropy!,
    dlogp,
    dentropy,
    dhidden: empty(rows * d),
    dxa: empty(rows * r),
    dloraB: before,
  });
  await checkGradient("dhidden", hidden, back.get("dhidden")!, loss);
  await checkGradient("dxa", xa, back.get("dxa")!, loss);
  const dloraB = back.get("dloraB")!.map((g, i) => g - before[i]!);
  await checkGradient("dloraB", loraB, dloraB, loss);
});

Deno.test("scatter_add_rows is the gradient of gather_rows", async () => {
  const d = 3, table = random64("table", 5 * d), dout = random64("gather dout", 4 * d);
  const index = Uint32Array.from([4, 0, 4, 2]);
  const loss = async () =>
    dot(
      dout,
      (await run("gather_rows", { table, index, out: empty(4 * d), rows: 4, d })).get("out")!,
    );
  const back = await run("scatter_add_rows", {
    src: dout,
    order: Uint32Array.from([1, 3, 0, 2]),
    runs: Uint32Array.from([0, 1, 2, 4]),
    target: Uint32Array.from([0, 2, 4]),
    table: empty(5 * d),
    runCount: 3,
    d,
  });
  await checkGradient("table", table, back.get("table")!, loss);
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
