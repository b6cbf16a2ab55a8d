/**
 * `rgx tasks export --from-run RUN --best`: the right answers of a run as prompts and completions,
 * which `rgx sft` trains on (rejection sampling; repeated, it is expert iteration).
 */
import { ANY_DATASET } from "../../configs/reading/resolve_paths.ts";
import { loadConfig } from "../../configs/load.ts";
import { rewardMetrics } from "../../configs/schema/metric_names.ts";
import { counted } from "../../core/counted.ts";
import { RgxError, UsageError } from "../../core/errors.ts";
import { exists } from "../../core/paths.ts";
import type { Row } from "../../data/export_formats.ts";
import { formatQuestion } from "../../data/prompt.ts";
import { CORRECT, scoreCompletion } from "../../data/score_completion.ts";
import { writeJsonLines, writeParquet } from "../../data/write_rows.ts";
import type { RewardSample } from "../../rewards/types.ts";
import { readStoredStep, storedSteps } from "../../training/rescore/stored_steps.ts";
import { log, print } from "../terminal/terminal.ts";

export interface ExportRunOptions {
  /** The run's folder. */
  run: string;
  /** Of the right answers to a prompt: the one with the fewest tokens, or all that differ. */
  best: "shortest" | "all";
  /** Its name ends in .jsonl or .parquet. */
  output: string;
}

/** @throws UsageError for a folder of no run; RgxError when none of its answers is right */
export async function exportRun({ run, best, output }: ExportRunOptions): Promise<void> {
  const folder = run.replace(/(?<=.)\/+$/, "");
  if (!await exists(`${folder}/config.yaml`)) {
    throw new UsageError(`--from-run ${run}: is not the folder of a run: it has no config.yaml`);
  }
  // The data of a past run need not be here: its tables hold the problems.
  const { config: { data, rewards, training } } = await loadConfig(`${folder}/config.yaml`, {
    env: Deno.env.toObject(),
    heldDataset: ANY_DATASET,
  });
  const facts = {
    folder,
    rewardNames: rewardMetrics(rewards),
    maxCompletionLength: training.max_completion_length,
  };
  /** The right answers to each prompt, by the prompt's text. */
  const right = new Map<string, RewardSample[]>();
  const asked = new Set<string>();
  let completions = 0;
  for (const step of await storedSteps(folder)) {
    for (const { sample } of (await readStoredStep(step, facts)).rows) {
      completions++;
      asked.add(sample.prompt);
      const { completion, entry, prompt, truncated } = sample;
      if (truncated) continue;
      if (scoreCompletion(completion, entry, data.system_prompt, prompt).score < CORRECT) continue;
      right.set(prompt, [...right.get(prompt) ?? [], sample]);
    }
  }
  if (right.size === 0) {
    throw new RgxError(`${folder}: none of its ${completions} completions is right`, {
      advice: "There is nothing to learn from: sample more, or from a better model.",
    });
  }
  const rows = [...right.values()].flatMap((samples) => chosen(samples, best))
    .map((sample) => rowOf(sample, data.add_instructions));
  if (output.endsWith(".jsonl")) await writeJsonLines(output, rows);
  else {
    const isChat = Array.isArray(rows[0]!["prompt"]);
    const prompt = isChat ? "messages" : "text";
    const columns = { prompt, completion: "text", answer: "text?", metadata: "json" } as const;
    await writeParquet(output, columns, rows);
  }
  print(output);
  log(
    `wrote ${output} (${counted(rows.length, "right answer")} to ${right.size} of the ` +
      `${counted(asked.size, "prompt")}, of ${counted(completions, "completion")})`,
  );
}

function chosen(samples: readonly RewardSample[], best: "shortest" | "all"): RewardSample[] {
  const different = [...new Map(samples.map((one) => [one.completion, one])).values()];
  if (best === "all") return different;
  const length = ({ completionIds }: RewardSample) => completionIds.length;
  return [different.reduce((short, one) => length(one) < length(short) ? one : short)];
}

/** The prompt is the one that the run asked, so it keeps the instruction of the run. */
function rowOf(
  { entry, messages, info, answer, completion }: RewardSample,
  addInstructions: boolean,
): Row {
  const { completion: _, work: __, ...metadata } = info;
  const prompt = messages ?? formatQuestion(entry.question ?? "", { addInstructions });
  return { prompt, completion, answer, metadata };
}
