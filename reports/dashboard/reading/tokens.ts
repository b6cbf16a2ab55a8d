/**
 * The log-probability and the entropy of each token of a completion, by a model of its run. They
 * are computed when somebody asks, in a process that ends: a page that is only looked at needs no
 * model.
 */
import { RgxError, UsageError } from "../../../core/errors.ts";
import { runCommand } from "../../../core/machine/run_command.ts";
import { programCommand } from "../../../core/program_command.ts";
import type { SequenceLogprobs } from "../../../models/inspect/logprobs.ts";
import { listCheckpoints, WARM_START } from "../../../training/checkpoint/checkpoint_folders.ts";
import { plainRows } from "./completions.ts";

/** Likeliest tokens in each place. */
const LIKELIEST = 3;
/** Maximum length of a prompt on a command line, in bytes. */
const MAX_PROMPT_BYTES = 120_000;

export type CompletionTokens = Awaited<ReturnType<typeof readTokens>>;

/** The processes run one after the other: each may need the memory of a model. */
let last: Promise<unknown> = Promise.resolve();

/**
 * @param row position in the table of the step
 * @param signal ends the computation
 * @throws UsageError when there is no such completion, or no model
 */
export async function readTokens(folder: string, step: number, row: number, signal: AbortSignal) {
  const { prompt, completion_ids } = (await plainRows(folder, step))[row] ?? {};
  if (typeof prompt !== "string" || !Array.isArray(completion_ids) || completion_ids.length === 0) {
    throw new UsageError("there are no tokens of this completion");
  }
  if (new TextEncoder().encode(prompt).length > MAX_PROMPT_BYTES) {
    throw new UsageError(`the prompt has more than ${MAX_PROMPT_BYTES} bytes`);
  }
  const model = await modelNear(folder, step - 1);
  const asked = last.then(() => ask(model.path, prompt, completion_ids.map(Number), signal));
  last = asked.catch(() => {});
  const { ids, logprobs, entropies, top, tokens } = await asked;
  const from = ids.length - completion_ids.length;
  return {
    /** The model: its folder below the run's, and the steps of GRPO that it has done. */
    model: model.path.slice(folder.length + 1) || "the trained model",
    modelSteps: model.step,
    tokens: ids.slice(from).map((id, i) => ({
      text: tokens[id]!,
      logprob: logprobs[from + i] ?? null,
      entropy: entropies[from + i] ?? null,
      /** The likeliest tokens in its place. */
      likeliest: (top[from + i] ?? []).map(({ id, logprob }) => [tokens[id]!, logprob] as const),
    })),
  };
}

/** The checkpoint of a run that is nearest to the model after a number of steps. */
async function modelNear(folder: string, steps: number) {
  const warm = (await listCheckpoints(`${folder}/${WARM_START}`)).at(-1);
  const found = [
    ...(warm === undefined ? [] : [{ path: warm.path, step: 0 }]),
    ...await listCheckpoints(folder),
  ];
  const far = ({ step }: { step: number }) => Math.abs(step - steps);
  return found.toSorted((one, other) => far(one) - far(other))[0] ?? { path: folder, step: null };
}

type Answer = SequenceLogprobs & { tokens: Record<number, string> };

/** Asks `rgx logprobs`. @throws RgxError with its message when it fails */
async function ask(
  model: string,
  prompt: string,
  ids: readonly number[],
  signal: AbortSignal,
): Promise<Answer> {
  const words = ["logprobs", "--model", model, "--prompt", prompt, "--ids-file", "-"];
  const how = ["--top", `${LIKELIEST}`, "--device", "wasm", "--json"];
  const ended = await runCommand([...programCommand(), ...words, ...how], {
    env: { NO_COLOR: "1" },
    input: JSON.stringify(ids),
    signal,
  });
  if (!ended?.success) throw new RgxError(ended?.err.trim() || "the computation was ended");
  return JSON.parse(ended.out);
}
