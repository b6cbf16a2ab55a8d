/** What a job will find in the folder of its run: a person may have meant another folder. */
import { stringify } from "yaml";
import { compareConfigs } from "../../configs/config_difference.ts";
import { asDocument } from "../../configs/to_yaml.ts";
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { readRun } from "../../training/run/run_folder.ts";

/** Keys that are no part of what a run stores, or that name its place. */
const NOT_COMPARED = /^training\.(?:output_dir|nnodes|n_gpus_per_node)$/;

const STATES: Readonly<Record<string, string>> = {
  completed: "holds a finished run: the job trains only the steps that training.max_steps adds",
  running:
    "holds a run that is at work, or was killed: the job goes on with it, and ends at once " +
    "if another process is still at work",
};

/** Nothing where there is no run in `output_dir` yet. */
export async function folderNotes(config: RunConfig): Promise<string[]> {
  const { output_dir: folder } = config.training, run = await readRun(folder);
  if (run === null) return [];
  const earlier = await Deno.readTextFile(`${folder}/config.yaml`).catch(() => "");
  // Keys that only one of them has are those of another version.
  const changed = compareConfigs(earlier, stringify(asDocument(config)))
    .filter(({ key, before, after }) =>
      before !== null && after !== null && before !== after && !NOT_COMPARED.test(key)
    );
  const state = STATES[String(run["status"])] ?? "holds a run: the job goes on with it";
  const values = changed.map(({ key, before, after }) => `${key} (there ${before}, here ${after})`);
  return [
    `${folder} ${state}`,
    ...(values.length === 0 ? [] : [`${folder} was made with other values: ${values.join(", ")}`]),
  ];
}
