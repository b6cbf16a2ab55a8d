/** The operations of the GPU that have a choice of kernels, by name. */
import { productChoice } from "../../ops/matmul/webgpu/choose.ts";
import type { ChoicePoint } from "../../ops/common/webgpu_op.ts";

const POINTS = [productChoice] as unknown as readonly ChoicePoint<Record<string, unknown>>[];

/** @throws Error for an operation that has no choice */
export function choicePoint(op: string): ChoicePoint<Record<string, unknown>> {
  const found = POINTS.find((point) => point.op === op);
  if (found === undefined) throw new Error(`the operation ${op} has no choice of kernels`);
  return found;
}
