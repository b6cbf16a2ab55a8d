import assert from "node:assert/strict";
import { createReferenceDevice } from "../../kernels/devices/reference/device.ts";
import { createDevice } from "../../kernels/mod.ts";
import recorded from "../../tests/golden/trl-distillation/cases.json" with { type: "json" };
import { CausalLM, type CausalLMOptions } from "../causal_lm.ts";
import { assertGradientsAreSlopes } from "../finite_differences_testing.ts";
import { gradients, randomModel, tinyConfig } from "../testing.ts";
import { divergence } from "./divergence.ts";
import { initWeights } from "./weights/init.ts";

const matrix = (rows: number, columns: number, f: (i: number, j: number) => number) =>
  Array.from({ length: rows }, (_, i) => Float64Array.from({ length: columns }, (_, j) => f(i, j)));
const dot = (a: Float64Array, b: Float64Array) => a.reduce((sum, x, i) => sum + x * b[i]!, 0);

Deno.test("divergences and their gradients are those of TRL's DistillationTrainer", () => {
  const hidden = matrix(5, 6, (i, j) => Math.sin(i + 0.7 * j));
  const head = matrix(11, 6, (i, j) => Math.cos(0.9 * i - 0.4 * j));
  const theirs = matrix(5, 4, (i, j) => Math.cos(1.1 * i + 0.3 * j));
  const teacherHead = matrix(11, 4, (i, j) => Math.sin(0.5 * i + 1.3 * j));
  for (const { beta, temperature, loss, dhidden, dweight } of recorded.cases) {
    const slope = new Float64Array(11), byHead = matrix(11, 6, () => 0);
    let sum = 0;
    for (const [i, row] of hidden.entries()) {
      const student = Float64Array.from(head, (weight) => dot(row, weight));
      const teacher = Float64Array.from(teacherHead, (weight) => dot(theirs[i]!, weight));
      const value = divergence(student, teacher, { beta, temperature }, slope);
      const weight = recorded.mask[i]! / recorded.items;
      sum += weight * value;
      for (let j = 0; j < 6; j++) {
        const own = head.reduce((total, w, v) => total + weight * slope[v]! * w[j]!, 0);
        assert.ok(Math.abs(own - dhidden[i]![j]!) < 1e-7, `beta ${beta}: row ${i}`);
        for (let v = 0; v < 11; v++) byHead[v]![j]! += weight * slope[v]! * row[j]!;
      }
    }
    assert.ok(
      Math.abs(sum - loss) < 1e-6,
      `beta ${beta}, temperature ${temperature}: ${sum}, not ${loss}`,
    );
    const off = byHead.flatMap((row, v) => [...row.map((x, j) => Math.abs(x - dweight[v]![j]!))]);
    assert.ok(Math.max(...off) < 1e-7, `beta ${beta}: the gradient of the head`);
  }
});

Deno.test("a student that is its own teacher has divergence 0 and gradient 0", () => {
  const logits = Float64Array.from({ length: 50 }, (_, v) => 3 * Math.sin(v));
  for (const beta of [0, 0.4, 1]) {
    const slope = new Float64Array(50).fill(1);
    const value = divergence(logits, logits, { beta, temperature: 0.8 }, slope);
    assert.ok(Math.abs(value) < 1e-15 && slope.every((x) => Math.abs(x) < 1e-16), `beta ${beta}`);
  }
});

const GROUPS = [
  { promptId: 0, promptIds: [1, 2, 3], branches: [[4, 5, 6], [7, 8]] },
  { promptId: 1, promptIds: [9], branches: [[10, 11, 12, 13]] },
];
/** The same branches after other prompts. */
const HINTED = GROUPS.map((group) => ({ ...group, promptIds: [14, ...group.promptIds, 15] }));
const WEIGHTS = Float64Array.from({ length: 9 }, (_, i) => i === 3 ? 0 : 0.1 + 0.05 * i);

Deno.test("the gradient of a divergence is that of its values", async (t) => {
  const cases: [string, CausalLMOptions][] = [
    ["full", { trainable: "full" }],
    ["an adapter on the head", {
      trainable: "lora",
      lora: { r: 2, alpha: 4, targetModules: ["q_proj", "lm_head"] },
    }],
  ];
  for (const [name, options] of cases) {
    await t.step(name, async () => {
      const device = createReferenceDevice({ float: "f64" }), config = tinyConfig(false);
      const student = await randomModel(device, config, options);
      const other = { ...config, hiddenSize: 8, numHeads: 2 };
      const teacher = await CausalLM.create(device, other, initWeights(other, 2, 0.4), {
        trainable: "none",
      });
      const how = { beta: 0.3, temperature: 0.9, weights: WEIGHTS };
      const loss = async () => {
        await teacher.forward(HINTED, { temperature: 1, train: false });
        const { logp } = await student.forward(GROUPS, { temperature: 0.9, train: true });
        const values = await student.addDivergence(teacher, how);
        const policy = Array.from(logp).reduce((sum, x, i) => sum + 0.01 * i * x, 0);
        return policy + values.reduce((sum, x, i) => sum + WEIGHTS[i]! * x, 0);
      };
      student.zeroGrad();
      await loss();
      student.backward(Float64Array.from({ length: 9 }, (_, i) => 0.01 * i));
      await assertGradientsAreSlopes(student, await gradients(student), loss);
    });
  }
});

Deno.test("the CPU device computes the same divergences as the reference device", async () => {
  const config = tinyConfig(true), all = [];
  for (const device of [createReferenceDevice(), await createDevice("wasm", { threads: 2 })]) {
    const [student, teacher] = await Promise.all(
      [1, 2].map((seed) =>
        CausalLM.create(device, config, initWeights(config, seed, 0.4), { trainable: "full" })
      ),
    ) as [CausalLM, CausalLM];
    await teacher.forward(GROUPS, { temperature: 1, train: false });
    await student.forward(GROUPS, { temperature: 1, train: true });
    const values = await student.addDivergence(teacher, {
      beta: 1,
      temperature: 1,
      weights: WEIGHTS,
    });
    student.backward(new Float64Array(9));
    const { grad } = student.trainable[0]!;
    all.push([...values, ...await device.read(grad!, 0, grad!.length)]);
    device.close();
  }
  const [one, other] = all as [number[], number[]];
  one.forEach((value, i) =>
    assert.ok(Math.abs(value - other[i]!) < 1e-4, `${i}: ${value}, ${other[i]}`)
  );
});
