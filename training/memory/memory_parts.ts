/** The parts of a memory plan, for people. */
import { modelTensors } from "../../models/architectures/mod.ts";
import type { ModelSizes } from "../../models/network/weights/model_sizes.ts";
import type { OptimizerKind } from "../step/moments.ts";
import { checkpointBytes, type CountedStep, countStep } from "./counted_step.ts";
import type { StepSize } from "./step_size.ts";

/** Bytes of the parts of a plan, whose sum is its peak, and of alternatives. */
export interface MemoryParts {
  /** Parameters that are not trained, and the types that their matrices are stored in. */
  frozen: number;
  /** Types that the matrices of frozen parameters are stored in. */
  frozenTypes: string[];
  /** Parameters that are trained: all of the model, or its adapters. */
  trained: number;
  /** Gradients of the trained parameters. */
  gradients: number;
  /** The optimizer's states. */
  optimizer: number;
  /** Copies for the reference of the KL term. */
  reference: number;
  /** Copies of weights for generation. */
  packed: number;
  /** KV cache of the largest generation. */
  caches: number;
  /** Everything else that generation and passes without gradient use. */
  inference: number;
  /** Activations that are kept for the backward pass. */
  activations: number;
  /** Activations that sampling keeps for the training pass. */
  sampled: number;
  /** Hidden states of the predicted tokens; logits are computed in chunks. */
  head: number;
  /** Scratch of one operation on a CPU, as packed operands; a card's is in `scratch`. */
  panels: number;
  /** Everything else that a training pass uses. */
  scratch: number;
  /** Tensors on their way into a checkpoint. */
  checkpoint: number;
  /** How what is trained is kept: the types of matrices, and of those of the reference. */
  kept: {
    trained: string[];
    reference: string[];
    optimizer: OptimizerKind;
    shards: number;
    /** Whether activations are computed again in the backward. */
    recompute: boolean;
  };
  /** What other ways of computing would take; no part of the sum. */
  otherwise: {
    /** Activations if all are kept, or if each layer is recomputed from its input. */
    kept: number;
    recomputed: number;
    /** The logits of all predicted tokens together. */
    allLogits: number;
  };
}

export async function memoryParts(
  sizes: ModelSizes,
  size: StepSize,
  step: CountedStep,
): Promise<MemoryParts> {
  const { recompute, config, floatBytes } = sizes;
  const other = await countStep({ ...sizes, recompute: !recompute }, size);
  const own = step.parts.activations, others = other.parts.activations;
  const pairs = Math.max(size.batch * size.completion, size.items * size.answer);
  return {
    ...step.parts,
    frozenTypes: typesOf(sizes),
    checkpoint: checkpointBytes(step, sizes),
    kept: keptTypes(sizes, size),
    otherwise: {
      kept: recompute ? others : own,
      recomputed: recompute ? own : others,
      allLogits: floatBytes * pairs * config.vocabSize,
    },
  };
}

function keptTypes(sizes: ModelSizes, size: StepSize): MemoryParts["kept"] {
  const isFull = sizes.trainable === "full", { optimizer, referenceStorage: storage } = size;
  return {
    trained: isFull ? typesOf(sizes) : ["f32"],
    reference: isFull ? typesOf({ ...sizes, storage }) : ["f32"],
    optimizer,
    shards: size.shards,
    recompute: sizes.recompute,
  };
}

function typesOf({ config, storage }: ModelSizes): string[] {
  const matrices = modelTensors(config).filter(({ shape }) => shape.length > 1);
  return [...new Set(matrices.map(({ name }) => storage.get(name) ?? "f32"))];
}
