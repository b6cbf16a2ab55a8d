/** The choices of kernels that operations of the GPU have, by name. */
import {
  backwardKeysChoice,
  backwardQueriesChoice,
  forwardChoice,
} from "../../ops/attention/choose.ts";
import { branchChoice, prefixChoice } from "../../ops/attention_decode/choose.ts";
import { productChoice } from "../../ops/matmul/webgpu/choose.ts";
import type { ChoicePoint } from "../../ops/common/webgpu_op.ts";

type AnyPoint = ChoicePoint<Record<string, unknown>>;

const POINTS = [
  productChoice,
  forwardChoice,
  backwardQueriesChoice,
  backwardKeysChoice,
  prefixChoice,
  branchChoice,
] as unknown as readonly AnyPoint[];

/** @throws Error for a name that no choice has */
export function choicePoint(name: string): AnyPoint {
  const found = POINTS.find((point) => point.name === name);
  if (found === undefined) throw new Error(`there is no choice of kernels "${name}"`);
  return found;
}
