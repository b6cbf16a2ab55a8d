/** CPU bindings of SwiGLU and its gradient; with GELU as the gate they are in native/c/gelu.c. */
import { byElements } from "../common/wasm_jobs.ts";
import type { WasmOp } from "../common/wasm_op.ts";
import type { GateOptions, SwigluArgs, SwigluBackwardArgs } from "./spec.ts";

const kernelOf = ({ gelu, sigmoid }: GateOptions) =>
  gelu ? "geglu" : sigmoid ? "sigmoid_gate" : "swiglu";

export const swigluWasm: WasmOp<SwigluArgs> = (args, ctx) => {
  const { limit } = args;
  if (limit !== undefined) return byElements(ctx, "clamped_swiglu", 4, { ...args, limit });
  byElements(ctx, kernelOf(args), 4, args);
};

export const swigluBackwardWasm: WasmOp<SwigluBackwardArgs> = (args, ctx) => {
  const { limit } = args;
  if (limit !== undefined) return byElements(ctx, "clamped_swiglu_backward", 4, { ...args, limit });
  byElements(ctx, `${kernelOf(args)}_backward`, 4, args);
};
