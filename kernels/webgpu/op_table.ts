/** Which host binding runs which operation on the WebGPU device. One line an operation. */
import { addWebgpu, copyWebgpu, fillWebgpu } from "../elementwise/webgpu.ts";
import type { OpName, Ops } from "../ops.ts";
import type { WebgpuOp } from "./webgpu_op.ts";

export const webgpuOps: { [K in OpName]: WebgpuOp<Ops[K]> } = {
  add: addWebgpu,
  copy: copyWebgpu,
  fill: fillWebgpu,
} as unknown as { [K in OpName]: WebgpuOp<Ops[K]> };
