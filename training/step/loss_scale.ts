/**
 * The scale of the loss with `compute_dtype: float16`, as torch's GradScaler has it: gradients are
 * computed of the loss times the scale, so that small ones do not become zero when products round
 * them, and the optimizer divides by it. The scale is a power of two, so that it rounds nothing.
 * After GROWTH_STEPS steps without overflow it is doubled.
 *
 * If a gradient overflows, torch leaves the step out and halves the scale. A step of GRPO costs a
 * generation, so here its passes are done again with a smaller scale. What is still not finite at
 * scale 1 is left out, as with every other type.
 */

const FIRST = 2 ** 16;
/** Steps without overflow before the scale grows, as in torch. */
const GROWTH_STEPS = 2000;
/** What the scale is multiplied by after an overflow. */
const BACKOFF = 2 ** -4;

export interface LossScaleState {
  scale: number;
  /** Steps since the last change. */
  steps: number;
}

export interface Passes {
  result: { loss: number };
  /** Norm of the scaled gradient. */
  gradNorm: number;
}

/** The scale of a new run whose products are in this type; null: the loss is not scaled. */
export function firstScale(computeDtype: string): LossScaleState | null {
  return computeDtype === "float16" ? { scale: FIRST, steps: 0 } : null;
}

/**
 * Does the passes of a step, again with a smaller scale while the gradient overflows.
 * @param state whose scale is changed
 * @returns what the passes gave, with the norm of the gradient itself
 */
export async function withLossScale<T extends Passes>(
  state: { lossScale: LossScaleState | null },
  passes: (scale: number) => Promise<T>,
): Promise<T> {
  while (true) {
    if (state.lossScale === null) return await passes(1);
    const { scale } = state.lossScale, found = await passes(scale);
    // A loss that is not finite comes from the forward pass, which has no scale.
    const overflows = Number.isFinite(found.result.loss) && !Number.isFinite(found.gradNorm);
    if (!overflows || scale === 1) return { ...found, gradNorm: found.gradNorm / scale };
    state.lossScale = { scale: Math.max(1, scale * BACKOFF), steps: 0 };
  }
}

export function grown({ scale, steps }: LossScaleState): LossScaleState {
  const grows = steps + 1 >= GROWTH_STEPS;
  return grows ? { scale: 2 * scale, steps: 0 } : { scale, steps: steps + 1 };
}
