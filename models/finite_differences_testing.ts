/** For tests of gradients: the derivative of an objective without backward passes. */
import assert from "node:assert/strict";
import { largest } from "../kernels/testing.ts";
import type { CausalLM } from "./causal_lm.ts";

const STEP = 1e-5;

/**
 * Asserts for every trained parameter that the gradient gives the slope of the objective along one
 * direction, which differences of the fourth order tell. The parameters are float64.
 * @param grads by the parameters' names
 * @param objective of the model as it is now
 * @param what stands in the message of a failure
 */
export async function assertGradientsAreSlopes(
  model: CausalLM,
  grads: Iterable<readonly [name: string, grad: ArrayLike<number>]>,
  objective: () => Promise<number>,
  what = "",
): Promise<void> {
  for (const [name, grad] of grads) {
    const { value } = model.trainable.find((parameter) => parameter.name === name)!;
    const start = Float64Array.from(await model.device.read(value));
    const direction = start.map((_, i) => Math.sin(i * 12.9898 + name.length) * 1.3);
    const expected = direction.reduce((sum, d, i) => sum + grad[i]! * d, 0);
    const at = async (t: number) => {
      model.writeParameter(name, start.map((x, i) => x + t * direction[i]!));
      return await objective();
    };
    const slope = (8 * (await at(STEP) - await at(-STEP)) -
      (await at(2 * STEP) - await at(-2 * STEP))) / (12 * STEP);
    model.writeParameter(name, start);
    const bound = 1e-7 * Math.max(1e-2, largest(grad));
    assert.ok(Math.abs(slope - expected) < bound, `${what} ${name}: ${expected}, ${slope}`);
  }
}
