/** A model whose products with 4-bit weights take activations in bytes (kernels/matmul/int8_rows.ts), for generation. */
import { UsageError } from "../core/errors.ts";
import { INT8_ACTIVATIONS } from "../kernels/matmul/spec.ts";
import { modulesOf } from "./architectures/mod.ts";
import type { Linear } from "./linear.ts";
import type { LlamaCore } from "./llama_pass.ts";

/** The same weights, read otherwise. @throws UsageError when none of them has a type for it */
export function withInt8Activations(core: LlamaCore): LlamaCore {
  const { config, weights } = core, types = new Set<string>();
  let found = false;
  const rounding = ({ storage, inOut = false }: Pick<Linear, "storage"> & { inOut?: boolean }) => {
    const suits = storage !== null && !inOut && INT8_ACTIVATIONS.includes(storage);
    found ||= suits;
    types.add(storage ?? "float32");
    return suits ? { activations: "int8" as const } : {};
  };
  const layers = weights.layers.map((layer) => {
    const rounded = { ...layer };
    for (const module of modulesOf(config)) {
      rounded[module] = { ...layer[module], ...rounding(layer[module]) };
    }
    return rounded;
  });
  const head = { ...weights.head, ...rounding(weights.head) };
  if (!found) {
    throw new UsageError(
      `activations int8: no weight of this model has 4 bits in a type for it, found ${
        [...types].join(", ")
      }; expected one of ${INT8_ACTIVATIONS.join(", ")}`,
      { advice: "Leave the option out, or take a GGUF file in one of these types." },
    );
  }
  return { ...core, weights: { ...weights, layers, head } };
}
