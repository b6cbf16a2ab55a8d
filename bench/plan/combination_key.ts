/** The key under which the samples of a model on a task are stored. */
import { sha256Hex } from "../../core/checksums.ts";
import { VERSION } from "../../core/version.ts";
import { DATASET_NAMES } from "../../data/dataset_entries.ts";
import { settingsFor } from "../../evaluation/prompt_settings.ts";
import { getTask, hasTask } from "../../tasks/registry.ts";
import type { ModelRequest } from "./model_request.ts";
import type { TestSet } from "./test_set.ts";

/**
 * A hash of everything that the answers depend on: the model, how it is asked, and the task. The
 * numbers of samples and of problems are not part of it, since a longer benchmark begins with the
 * samples of a shorter one; nor is the time in the prompts, which a resume takes from the samples.
 */
export function combinationKey(
  { name, where, settings, fingerprint }: ModelRequest,
  set: TestSet,
): string {
  const { samples: _, ...sampling } = settings.sampling;
  const { from: __, prompt_time: ____, ...prompt } = settings.prompt;
  const asked = settingsFor(prompt, set.isOwn);
  const { taskName, seed, binary, shots } = set;
  // The path is left out, since a file may move. Keys of its problems contain the problems.
  const { path: ___, ...others } = set.parameters;
  const file = hasTask(taskName) ? getTask(taskName).sha256 : undefined;
  const parameters = DATASET_NAMES.includes(taskName) ? others : set.parameters;
  return sha256Hex(JSON.stringify([
    VERSION,
    // Local models are known by their fingerprint, however their path is spelled.
    [where.kind === "remote" ? name : null, fingerprint, asked, sampling],
    [settings.seed, settings.keepPromptTokens],
    [taskName, parameters, seed, binary, shots.map(({ question }) => question)],
    ...(file === undefined ? [] : [file]),
  ])).slice(0, 32);
}
