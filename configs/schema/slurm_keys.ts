/** Keys of a job on a SLURM cluster: section `slurm`, the defaults of the flags of `rgx slurm`. */
import { describeNode } from "../documents/node.ts";
import { keys } from "../types/key_spec.ts";
import {
  checkSlurmName,
  DEFAULT_TIME,
  parseMemory,
  parseTimeLimit,
} from "../types/slurm_values.ts";
import { checked, text, type ValueType } from "../types/value_types.ts";

/**
 * Text that SLURM reads, checked as the flag is. A number counts as the text that was written:
 * `memory: 0`, or `time: 90`, which means minutes.
 * @param check throws for what SLURM would refuse or misread
 */
function slurmText(expected: string, check: (text: string) => void): ValueType<string> {
  const type = checked(text(), check);
  return {
    ...type,
    expected,
    read(node, complain) {
      const value = node.kind === "scalar" ? node.value : null;
      if (node.kind === "scalar" && typeof value === "number") {
        return type.read({ ...node, raw: node.raw ?? String(value), value: null }, complain);
      }
      if (typeof value === "string") return type.read(node, complain);
      return complain(node.at, `expected ${expected}, found ${describeNode(node)}`);
    },
  };
}

export const SLURM = {
  path: "slurm",
  about: "defaults of the flags of `rgx slurm`, which training does not read; null: none",
  isOptional: true as const,
  keys: keys({
    account: slurmText("the name of an account", (text) => checkSlurmName(text, "account", "")),
    partition: slurmText(
      "the name of a partition",
      (text) => checkSlurmName(text, "partition", ""),
    ),
    time: slurmText("a time limit, as in 04:00:00", (text) => parseTimeLimit(text, "")),
    card: slurmText("a type of card", (text) => checkSlurmName(text, "gpuType", "")),
    memory: slurmText("an amount of memory, as in 320G", (text) => parseMemory(text, "")),
  }, {
    account: `account? = null -- the account that the job is charged to; null: the command line
      names it`,
    partition: "partition? = null -- partition; null = the site's default",
    time: `time = ${DEFAULT_TIME} -- time limit of one start of the job: HH:MM:SS or D-HH:MM:SS`,
    gpus: `int>=0<=1024? = null -- cards of each node, one rank each; 0 = none; null =
      training.n_gpus_per_node, or 1`,
    gpu_type: "card? = null -- type of the cards, as in a100; null or any = any",
    cpus: "int>=1<=4096? = null -- cores of a process; null = by the plan",
    memory: `memory? = null -- memory of each node, with its unit; 0 = all of it; null = by the
      plan`,
    nodes: "int>=1<=4096? = null -- nodes; null = training.nnodes, or 1",
    work_dir: `name? = null -- where the job runs, and where relative paths of the configuration
      begin; null = the current folder`,
    output: "name? = null -- the script; null = slurm_{job name}.sh",
    requeue: "bool = true -- back into the queue when time is nearly up",
  }),
};
