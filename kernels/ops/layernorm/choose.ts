/** How LayerNorm's rows are divided on a GPU; see ../rmsnorm/choose.ts. */
import { adds, BACKWARD, FORWARD, normChoice, residual, smallNorm } from "../rmsnorm/choose.ts";
import type { LayernormArgs, LayernormBackwardArgs } from "./spec.ts";

export const layernormChoice = normChoice<LayernormArgs>(
  "layernorm",
  ["out", "sum", "mean", "rho"],
  residual,
  (args) => smallNorm(args, FORWARD, ["weight", "bias"], ["mean", "rho"]),
);

export const layernormBackwardChoice = normChoice<LayernormBackwardArgs>(
  "layernorm_backward",
  ["dx"],
  adds,
  (args) => smallNorm(args, BACKWARD, ["weight", "dweight"], ["mean", "rho"]),
);
