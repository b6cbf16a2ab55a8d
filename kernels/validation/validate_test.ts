import assert from "node:assert/strict";
import { refusal } from "../../core/testing.ts";
import type { Tensor } from "../tensor.ts";
import type { OpName, Ops } from "../ops/ops.ts";
import { device, F, rightCalls, U } from "./right_calls_testing.ts";
import { tensorsOf, validateOp } from "./validate.ts";

const NAMES = Object.keys(rightCalls()) as OpName[];

/** Arguments whose length depends on indices that the host cannot see. */
const UNCHECKED: Partial<Record<OpName, readonly string[]>> = {
  attention_decode: ["prefixK", "prefixV"],
  decode_layer: ["prefixK", "prefixV"],
  scatter_add_rows: ["src", "order"],
  short_conv: ["table"],
  short_conv_backward: ["users"],
};

function refused(op: OpName, args: unknown, pattern: RegExp): void {
  assert.throws(
    () => validateOp(op, args as Ops[OpName]),
    refusal(pattern),
    op,
  );
}

/** The conformance suite holds these to the outputs of its cases, but for four operations. */
const outputsOf = (op: OpName) =>
  tensorsOf(op, rightCalls()[op]).filter(({ isOutput }) => isOutput).map(({ name }) => name);

Deno.test("the outputs of operations without cases in the conformance suite", () => {
  assert.deepEqual(outputsOf("sample"), ["tokens", "logp"]);
  assert.deepEqual(outputsOf("adamw_8bit"), ["param", "m", "v", "mMax", "vMax"]);
  assert.deepEqual(outputsOf("widen_bf16"), ["out"]);
  assert.deepEqual(outputsOf("round_bf16"), ["weight", "rest"]);
});

const isTensor = (value: unknown): value is Tensor => typeof value === "object" && value !== null;

Deno.test("a valid call of every operation is accepted", () => {
  const calls = rightCalls();
  for (const op of NAMES) validateOp(op, calls[op]);
});

Deno.test("the error for a too short tensor names it, its length and the expected length", () => {
  for (const op of NAMES) {
    const args = rightCalls()[op] as unknown as Record<string, unknown>;
    for (const [name, value] of Object.entries(args)) {
      if (!isTensor(value) || UNCHECKED[op]?.includes(name)) continue;
      // Shorter by one element than this call needs.
      const short = device.create(value.dtype, 0, "short one");
      const pattern = new RegExp(
        `^${op}: ${name} is "short one" with 0 elements, expected at least`,
      );
      refused(op, { ...args, [name]: short }, pattern);
    }
  }
  const { matmul } = rightCalls();
  refused("matmul", { ...matmul, m: 3 }, /^matmul: a is "f" with 6 elements, expected at least 9$/);
});

Deno.test("a tensor of the wrong type is refused", () => {
  for (const op of NAMES) {
    const args = rightCalls()[op] as unknown as Record<string, unknown>;
    for (const [name, value] of Object.entries(args)) {
      if (!isTensor(value) || op === "copy" && name === "src") continue;
      const other = device.create(value.dtype === "u32" ? "float" : "u32", value.length, "other");
      refused(op, { ...args, [name]: other }, new RegExp(`^${op}: ${name} .*expected type`));
    }
  }
});

Deno.test("a missing tensor is refused", () => {
  const { matmul } = rightCalls();
  refused("matmul", { ...matmul, b: undefined }, /^matmul: b is undefined, expected a tensor/);
});

Deno.test("sizes are non-negative integers", () => {
  const sizes = new RegExp(
    "^(m|n|k|rows|d|heads|kvHeads|headDim|segmentCount|count|maxNew|runCount|pairs|vocab|topK|" +
      "site)$",
  );
  for (const op of NAMES) {
    const args = rightCalls()[op] as unknown as Record<string, unknown>;
    for (const name of Object.keys(args)) {
      if (!sizes.test(name) || isTensor(args[name])) continue;
      for (const wrong of [-1, 1.5, NaN, Infinity]) {
        refused(
          op,
          { ...args, [name]: wrong },
          new RegExp(`^${op}: ${name} is ${wrong}, expected a `),
        );
      }
    }
  }
});

Deno.test("rows may have no columns where nothing is computed of them; no number is absent", () => {
  const { dropout, gather_rows, scatter_rows, scatter_add_rows, rmsnorm, matmul } = rightCalls();
  validateOp("dropout", { ...dropout, d: 0 });
  validateOp("gather_rows", { ...gather_rows, d: 0 });
  validateOp("scatter_rows", { ...scatter_rows, d: 0 });
  validateOp("scatter_add_rows", { ...scatter_add_rows, d: 0 });
  refused("rmsnorm", { ...rmsnorm, d: 0 }, /rmsnorm: d is 0, expected a positive integer/);
  refused("rmsnorm", { ...rmsnorm, d: undefined }, /rmsnorm: x .* expected at least NaN/);
  refused("matmul", { ...matmul, m: null }, /matmul: m is null, expected a non-negative integer/);
});

Deno.test("an output may not overlap the memory of another argument", () => {
  /** For each operation: outputs that may be identical to an input, with this input. */
  const allowed: Record<string, readonly string[]> = {
    rmsnorm: ["sum x"],
    layernorm: ["sum x"],
    gelu: ["out x"],
    gelu_backward: ["dx x"],
    swiglu: ["out gate", "out up"],
    swiglu_backward: ["dgate gate", "dup up"],
    scale_columns: ["out x"],
    add: ["out a", "out b"],
    multiply: ["out a", "out b"],
    soft_cap: ["out x"],
    soft_cap_backward: ["dx dout"],
    dropout: ["out x"],
  };
  for (const op of NAMES) {
    for (const output of outputsOf(op)) {
      for (const [name, value] of Object.entries(rightCalls()[op])) {
        if (name === output || !isTensor(value) || UNCHECKED[op]?.includes(name)) continue;
        const args = rightCalls()[op] as unknown as Record<string, Tensor>;
        if (args[output]!.dtype !== value.dtype) continue;
        const shared = device.create(value.dtype, 6000, "shared");
        const both = { ...args, [name]: shared, [output]: shared };
        if (allowed[op]?.includes(`${output} ${name}`)) {
          validateOp(op, both as unknown as Ops[OpName]);
          const shifted = {
            ...args,
            [name]: shared.view(0, 200),
            [output]: shared.view(64, 200),
            n: 70,
          };
          if ("n" in args) refused(op, { ...longer(shifted) }, /expected only exactly/);
        } else {
          refused(op, both, new RegExp(`^${op}: .*shared.*expected (memory|only)`));
        }
      }
    }
  }
});

/** A call's tensors, long enough for n = 70. */
function longer(args: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(args).map(([name, value]) => [
      name,
      isTensor(value) && value.length < 70 ? device.create(value.dtype, 70, name) : value,
    ]),
  );
}

Deno.test("inputs may share memory, and outputs may be adjacent", () => {
  const whole = F(256, "whole");
  validateOp("matmul", { a: whole, b: whole, out: F(4), m: 2, n: 2, k: 2 });
  validateOp("copy", { src: whole.view(0, 64), out: whole.view(64, 64), n: 64 });
  // Only the elements that are used count, not the length of the tensor.
  validateOp("copy", { src: whole, out: whole.view(64, 64), n: 64 });
});

Deno.test("head sizes must fit together", () => {
  const calls = rightCalls();
  for (const op of ["attention", "attention_backward", "attention_decode"] as const) {
    refused(op, { ...calls[op], kvHeads: 3 }, /heads is 4, expected a multiple of kvHeads \(3\)/);
    refused(op, { ...calls[op], headDim: 1 }, /headDim is 1, expected an even number/);
    refused(op, { ...calls[op], kvHeads: 0 }, /kvHeads is 0, expected a positive integer/);
    refused(op, { ...calls[op], scale: NaN }, /scale is NaN, expected a finite number/);
  }
  refused("rope", { ...calls.rope, headDim: 3 }, /rope: headDim is 3, expected an even number/);
  refused("attention", { ...calls.attention, segmentCount: 0 }, /segmentCount is 0/);
});

Deno.test("options out of range are refused", () => {
  const calls = rightCalls(), { sample, head, rmsnorm, adamw, matmul, fill } = calls;
  refused("sample", { ...sample, temperature: -1 }, /sample: temperature is -1, expected/);
  refused("sample", { ...sample, topP: 0 }, /sample: topP is 0, expected 0 < topP ≤ 1/);
  refused("sample", { ...sample, topP: 1.1 }, /topP is 1.1/);
  refused("sample", { ...sample, minP: 2 }, /minP is 2/);
  const { dropout, adjust_logits: adjust } = calls;
  for (const penalty of [0, -1, NaN, Infinity]) {
    refused("adjust_logits", { ...adjust, penalty }, /adjust_logits: penalty is .* number > 0/);
  }
  const without = (name: keyof typeof adjust) => ({ ...adjust, [name]: undefined });
  refused("adjust_logits", without("seen"), /slots is given alone, expected seen and slots/);
  refused("adjust_logits", without("slots"), /seen is given alone, expected seen and slots/);
  refused("adjust_logits", { ...without("seen"), slots: undefined }, /newest is given/);
  refused("adjust_logits", without("forbidden"), /forbidden is absent, expected a tensor/);
  refused("dropout", { ...dropout, p: 1 }, /dropout: p is 1, expected 0 ≤ p < 1/);
  refused("dropout", { ...dropout, p: -0.1 }, /p is -0.1/);
  refused("dropout", { ...dropout, p: NaN }, /p is NaN/);
  refused("dropout", { ...dropout, seedHigh: 0.5 }, /seedHigh is 0.5/);
  refused("dropout", { ...dropout, seedLow: 2 ** 32 }, /seedLow is 4294967296/);
  refused("dropout", { ...dropout, seedHigh: -1 }, /seedHigh is -1/);
  refused("dropout", { ...dropout, site: 2 ** 14 }, /site is 16384, expected below 16384/);
  refused("dropout", { ...dropout, d: 2 ** 20 + 1 }, /d is 1048577, expected at most 1048576/);
  refused(
    "dropout",
    { ...dropout, x: dropout.out, accumulate: true },
    /expected memory of its own/,
  );
  refused("head", { ...head, temperature: 0 }, /head: temperature is 0, expected/);
  for (const cap of [0, -1, NaN, Infinity, undefined]) {
    const call = { ...calls.soft_cap, cap };
    refused("soft_cap", call, /soft_cap: cap is .*, expected a finite number > 0/);
    if (cap === undefined) continue;
    refused("head", { ...head, softCap: cap }, /head: softCap is .*, expected a finite number > 0/);
  }
  const mean = calls.head_backward.hidden;
  refused("head_backward", { ...calls.head_backward, mean }, /mean is given, expected no mean/);
  const adapter = { xa: F(6), loraB: F(10), r: 2, loraScale: 1 };
  refused("head", { ...head, ...adapter, mean: F(6) }, /mean is given, expected no mean beside an/);
  refused("head", { ...head, xa: F(6) }, /loraB is absent, expected xa, loraB, r and loraScale/);
  refused("head", { ...head, ...adapter, loraB: F(9) }, /loraB has|loraB is/);
  const { head_backward: back } = calls;
  refused("head_backward", { ...back, ...adapter }, /dxa is absent, expected a tensor/);
  refused("head_backward", { ...back, dxa: F(6) }, /r is absent, expected an adapter beside/);
  refused("adamw", { ...adamw, lr: NaN }, /adamw: lr is NaN/);
  refused("adamw", { ...adamw, correction1: 0 }, /adamw: correction1 is 0/);
  refused("matmul", { ...matmul, alpha: Infinity }, /matmul: alpha is Infinity/);
  const twice = { ...matmul, b: F(100), transB: true, packedB: true };
  refused("matmul", twice, /matmul: packedB is true, expected no transB beside it/);
  const stored = { ...matmul, a: F(8), b: U(8), k: 4, transB: true, weightType: "f16" } as const;
  validateOp("matmul", stored);
  refused(
    "matmul",
    { ...stored, weightType: "f8" },
    /matmul: weightType is f8, expected f16, bf16/,
  );
  refused("matmul", { ...stored, transA: true }, /weightType is f16, expected no transA beside it/);
  refused("matmul", { ...stored, b: F(16) }, /matmul: b is "f" of type float, expected type u32/);
  refused("matmul", { ...stored, k: 3 }, /matmul: k is 3, expected a multiple of 2 for a weight/);
  const blocks = { ...stored, a: F(128), b: U(80), k: 32, weightType: "q4_1" } as const;
  validateOp("matmul", blocks);
  refused("matmul", { ...blocks, b: U(79) }, /b is "u" with 79 elements, expected at least 80/);
  const along = { ...blocks, transB: false, a: F(4), n: 48, k: 2 } as const;
  refused("matmul", along, /matmul: n is 48, expected a multiple of 32 for a weight in q4_1/);
  const gather = { ...calls.gather_rows, table: U(320), d: 256, weightType: "nf4" } as const;
  refused("gather_rows", { ...gather, d: 96 }, /gather_rows: d is 96, expected a multiple of 64/);
  refused("gather_rows", gather, /table is "u" with 320 elements, expected at least 532/);
  const { r: _r, ...withoutRank } = matmul;
  refused("matmul", withoutRank, /matmul: r is absent, expected xa, loraB and r together/);
  refused("matmul", { ...matmul, r: 3 }, /matmul: xa is "f" with 4 elements, expected at least 6/);
  refused("fill", { ...fill, value: undefined }, /fill: value is undefined/);
  const { sum: _, ...withoutSum } = rmsnorm;
  refused("rmsnorm", withoutSum, /rmsnorm: add is given alone, expected add and sum together/);
});

Deno.test("an unknown operation is refused", () => {
  refused("divide" as OpName, {}, /unknown operation "divide"/);
});
