/** How a benchmark samples: the user's settings, else those of the models' runs, else defaults. */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import type { Sampling } from "../results/result_file.ts";

/** Maximum number of tokens of an answer where neither the user nor a run sets it. */
const DEFAULT_MAX_NEW_TOKENS = 512;

/**
 * The sampling of all models. From the runs come the settings that also shape greedy answers, and
 * the longest of their completion lengths. Several greedy samples of a problem are one: the mean
 * and the best of equal scores are that score.
 */
export function samplingOf(
  asked: Partial<Sampling>,
  runs: readonly RunConfig[],
  warnings: string[],
): Sampling {
  const { samples = 1, ...given } = asked;
  const longest = Math.max(0, ...runs.map(({ training }) => training.max_completion_length));
  const sampling = {
    temperature: samples > 1 ? 1 : 0,
    top_p: 1,
    top_k: 0,
    min_p: 0,
    repetition_penalty: 1,
    ...shapeOf(runs, given, warnings),
    max_new_tokens: longest > 0 ? longest : DEFAULT_MAX_NEW_TOKENS,
    samples,
    ...given,
  };
  // The defaults are left out, since the settings are part of the key of stored answers.
  if (sampling.activations === "float32") delete sampling.activations;
  if (sampling.compute_dtype === "float32") delete sampling.compute_dtype;
  if (samples === 1 || sampling.temperature !== 0) return sampling;
  warnings.push(
    `at temperature 0 all ${samples} samples of a problem are the same: each is asked once`,
  );
  return { ...sampling, samples: 1 };
}

function shapeOf(
  runs: readonly RunConfig[],
  given: Partial<Sampling>,
  warnings: string[],
): Partial<Sampling> {
  const shapes = runs.map(({ training: { repetition_penalty, stop, min_new_tokens } }) => ({
    repetition_penalty,
    ...(stop.length > 0 && { stop }),
    ...(min_new_tokens > 0 && { min_new_tokens }),
    ...given,
  }));
  if (new Set(shapes.map((shape) => JSON.stringify(shape))).size <= 1) return shapes[0] ?? {};
  warnings.push(
    "the runs differ in repetition_penalty, stop or min_new_tokens: all models are asked without " +
      "them, unless --repetition-penalty and --stop say more",
  );
  return {};
}
