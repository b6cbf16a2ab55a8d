/**
 * Generation with int8 activations: products with 4-bit weights round their activations to bytes
 * (kernels/ops/matmul/int8_rows.ts).
 */
import { UsageError } from "../../core/errors.ts";
import { INT8_ACTIVATIONS } from "../../kernels/ops/matmul/spec.ts";
import {
  architectureOf,
  embeddingName,
  headName,
  isMatrix,
  modelTensors,
} from "../architectures/mod.ts";
import type { Linear } from "../network/linear.ts";
import { type Network, withLinears } from "../network/weights/model_weights.ts";
import type { ModelConfig } from "../architectures/model_config.ts";
import type { WeightReader } from "../formats/weight_reader.ts";
import type { WeightType } from "../formats/stored_weight.ts";
import { planStorage, type StorageOptions } from "../network/weights/weight_storage.ts";

/**
 * Checks from the planned storage types whether a model supports int8 activations, before its
 * weights are loaded.
 * @throws UsageError when no weight has a type that supports it
 */
export function requireInt8Weights(
  { path, config, files }: {
    path: string;
    config: ModelConfig;
    files: Pick<WeightReader, "typeOf">;
  },
  weights: StorageOptions,
): void {
  const withInt8: StorageOptions = { ...weights, activations: "int8" };
  const storage = planStorage(config, "none", withInt8, (name) => files.typeOf(name));
  const { inOut } = architectureOf(config), head = headName(config);
  const isProduct = (name: string) => name === head || !inOut && name !== embeddingName(config);
  const held = modelTensors(config).filter((tensor) => isMatrix(tensor) && isProduct(tensor.name))
    .map(({ name }) => storage.get(name) ?? null);
  if (!held.some(suits)) refuse(path, new Set(held.map((type) => type ?? "float32")));
}

function suits(type: WeightType | null): boolean {
  return type !== null && INT8_ACTIVATIONS.includes(type);
}

function refuse(model: string, types: ReadonlySet<string>): never {
  throw new UsageError(
    `activations int8: no weight of ${model} has 4 bits in a type for it, found ${
      [...types].join(", ")
    }; expected one of ${INT8_ACTIVATIONS.join(", ")}`,
    { advice: "Leave the option out, or take a GGUF file in one of these types." },
  );
}

/**
 * The same network with int8 activations where the weights support it.
 * @throws UsageError when no weight has a type that supports it
 */
export function withInt8Activations(network: Network): Network {
  const { config, weights } = network, types = new Set<string>();
  let found = false;
  const rounding = ({ storage, inOut = false }: Pick<Linear, "storage"> & { inOut?: boolean }) => {
    const rounded = !inOut && suits(storage);
    found ||= rounded;
    types.add(storage ?? "float32");
    return rounded ? { activations: "int8" as const } : {};
  };
  const layers = withLinears(
    config,
    weights,
    (linear) => linear.experts === null ? { ...linear, ...rounding(linear) } : linear,
  );
  const head = { ...weights.head, ...rounding(weights.head) };
  if (!found) refuse("this model", types);
  return { ...network, weights: { ...weights, layers, head } };
}
