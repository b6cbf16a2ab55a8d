/**
 * DoRA (Liu et al. 2024) as in PEFT: y = gain·(W·x + s·B·A·x) + bias, with a gain for every output,
 * magnitude / ‖its row of W + s·B·A‖. The length is a constant for the gradient. With dropout only
 * A's input is dropped; PEFT also drops the input of W where it multiplies it by gain − 1.
 */
import { linearDims, modulesOf } from "../architectures/mod.ts";
import type { Network } from "./weights/model_weights.ts";
import { updateTable } from "./embedding_adapter.ts";
import { weightOperand } from "./linear.ts";
import type { Workspace } from "./workspace.ts";

/** Computes what passes read of the adapter: DoRA's gains, and the embedding's table. */
export function updateAdapter({ device, config, weights }: Network, workspace: Workspace): void {
  const { embeddingAdapter } = weights;
  if (embeddingAdapter !== null) updateTable(device, embeddingAdapter, workspace, config);
  const largest = Math.max(
    ...modulesOf(config).map((module) => linearDims(config, module, null)[1]),
  );
  const linears = weights.layers.flatMap((layer, l) =>
    modulesOf(config, l).map((module) => layer[module])
  );
  if (weights.perLayer !== null) linears.push(weights.perLayer.model);
  for (const { weight, storage, inOut, inDim: k, outDim: d, lora } of linears) {
    if (lora === null || lora.dora === null) continue;
    const { a, b, r, scale, dora: { squares, magnitude, rho, gain } } = lora;
    const q = workspace.get("dora.products", r * largest); // [r, d]
    const aa = workspace.get("dora.squares", r * r);
    const of = weightOperand({ weight, storage, packed: null, inOut });
    device.run("matmul", { a, ...of, out: q, m: r, n: d, k, alpha: 2 * scale });
    device.run("matmul", { a, b: a, transB: true, out: aa, m: r, n: r, k, alpha: scale ** 2 });
    const square = { a: aa, b, transB: true, out: q, m: r, n: d, k: r, accumulate: true };
    device.run("matmul", square);
    device.run("dora_gain", { squares, q, b, magnitude, rho, gain, r, d });
  }
}
