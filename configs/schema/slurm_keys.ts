/** Keys of a job on a SLURM cluster: section `slurm`, the defaults of the flags of `rgx slurm`. */
import { RgxError } from "../../core/errors.ts";
import { describeNode } from "../documents/node.ts";
import { key } from "../types/key_spec.ts";
import {
  checkSlurmName,
  DEFAULT_TIME,
  parseMemory,
  parseTimeLimit,
} from "../types/slurm_values.ts";
import { bool, int, name, nullable, type ValueType } from "../types/value_types.ts";

/**
 * Text that SLURM reads, checked as the flag is. A number is taken as it is written: `memory: 0`,
 * and `time: 90`, which is minutes.
 * @param check throws for what SLURM would refuse or misread
 */
function slurmText(expected: string, check: (text: string) => void): ValueType<string> {
  return {
    expected,
    ts: "string",
    read(node, complain) {
      const value = node.kind === "scalar" ? node.value : null;
      if (typeof value !== "string" && typeof value !== "number") {
        complain(node.at, `expected ${expected}, found ${describeNode(node)}`);
        return undefined;
      }
      const raw = node.kind === "scalar" ? node.raw : undefined;
      const text = typeof value === "string" ? value : raw ?? String(value);
      try {
        check(text);
        return text;
      } catch (error) {
        if (!(error instanceof RgxError)) throw error;
        const { advice } = error;
        complain(node.at, advice === undefined ? error.message : `${error.message}. ${advice}`);
        return undefined;
      }
    },
  };
}

export const SLURM = {
  path: "slurm",
  flat: false,
  keys: {
    account: key(
      nullable(slurmText("the name of an account", (text) => checkSlurmName(text, "account", ""))),
      null,
      "the account that the job is charged to; null: the command line names it",
    ),
    partition: key(
      nullable(
        slurmText("the name of a partition", (text) => checkSlurmName(text, "partition", "")),
      ),
      null,
      "partition; null = the site's default",
    ),
    time: key(
      slurmText("a time limit, as in 04:00:00", (text) => parseTimeLimit(text, "")),
      DEFAULT_TIME,
      "time limit of one start of the job: HH:MM:SS or D-HH:MM:SS",
    ),
    gpus: key(
      nullable(int({ min: 0, max: 1024 })),
      null,
      "cards of each node, one rank each; 0 = none; null = training.n_gpus_per_node, or 1",
    ),
    gpu_type: key(
      nullable(slurmText("a type of card", (text) => checkSlurmName(text, "gpuType", ""))),
      null,
      "type of the cards, as in a100; null or any = any",
    ),
    cpus: key(nullable(int({ min: 1, max: 4096 })), null, "cores of a process; null = by the plan"),
    memory: key(
      nullable(slurmText("an amount of memory, as in 320G", (text) => parseMemory(text, ""))),
      null,
      "memory of each node, with its unit; 0 = all of it; null = by the plan",
    ),
    nodes: key(
      nullable(int({ min: 1, max: 4096 })),
      null,
      "nodes; null = training.nnodes, or 1",
    ),
    work_dir: key(
      nullable(name()),
      null,
      "where the job runs, and where relative paths of the configuration begin; null = the " +
        "current folder",
    ),
    output: key(nullable(name()), null, "the script; null = slurm_{job name}.sh"),
    requeue: key(bool(), true, "back into the queue when time is nearly up"),
  },
};
