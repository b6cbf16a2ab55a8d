/**
 * Packed weights of a generation's own model, which models with other adapters on the same base
 * use, too: those of linear layers in which no adapter is merged.
 */
import type { Module } from "../architectures/architecture.ts";
import type { Network } from "../network/forward_pass.ts";
import type { Linear } from "../network/linear.ts";

export class SharedWeights {
  /**
   * @param source the model's network
   * @param packed the same with packed or rounded copies (packed_weights.ts)
   */
  constructor(private readonly source: Network, private readonly packed: Network) {}

  /** The packed weight of a linear layer without its adapter; null = it is not the same weight. */
  linear(linear: Linear, layer: number, module: Module): Linear | null {
    const source = this.source.weights.layers[layer]![module];
    if (source.lora !== null || source.weight !== linear.weight) return null;
    const shared = this.packed.weights.layers[layer]![module];
    const isCopy = shared.packed !== null || shared.storage !== source.storage;
    return isCopy && shared.lora === null ? shared : null;
  }

  /** The head with its packed form, for a network with the same head; null = it has another one. */
  head({ weights: { head } }: Network): Pick<Network["weights"], "head" | "packedHead"> | null {
    const { source: { weights: source }, packed: { weights: packed } } = this;
    if (source.headLora !== null || source.head.value !== head.value) return null;
    const isCopy = packed.packedHead !== null || packed.head.storage !== source.head.storage;
    return isCopy ? { head: packed.head, packedHead: packed.packedHead } : null;
  }
}
