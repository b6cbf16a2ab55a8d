/** The value of `--mpi`: how srun starts the ranks of a job. Each cluster lists its own types. */
import { UsageError } from "../core/errors.ts";
import { nearest } from "../core/suggest.ts";
import { runCommand } from "../core/machine/run_command.ts";
import { outsideOfJobs } from "./submit.ts";

/** Types in SLURM's own sources that tell an MPI library its ranks. */
const KNOWN = ["pmix", "pmi2", "cray_shasta", "openmpi"];
const VERSIONED = /^pmix_v\d+$/;
/** Values that srun accepts, but with which no ranks start. */
const NO_RANKS: Readonly<Record<string, string>> = {
  none: "starts processes that do not know of each other",
  list: "only lists the types",
};

/**
 * Checks a type: on a machine of a cluster with srun's list, elsewhere by its name.
 * @returns notes about an unknown type
 * @throws UsageError for a type that can start no ranks here
 */
export async function checkMpiType(type: string): Promise<string[]> {
  const why = Object.hasOwn(NO_RANKS, type) ? NO_RANKS[type] : undefined;
  if (why !== undefined) {
    throw new UsageError(`--mpi ${type}: ${why}`, {
      advice: `Types with ranks: ${KNOWN.join(", ")}.`,
    });
  }
  const here = await typesHere();
  if (here?.includes(type)) return [];
  if (here !== null) {
    throw new UsageError(`--mpi ${type}: srun has no such type here`, {
      advice: `srun --mpi=list: ${here.join(", ")}`,
    });
  }
  if (KNOWN.includes(type) || VERSIONED.test(type)) return [];
  const near = nearest(type, KNOWN);
  return [
    `--mpi ${type} is no type that rgx knows (${KNOWN.join(", ")}, pmix_v4, …)` +
    (near === null ? "" : `, did you mean ${near}?`) +
    "; srun --mpi=list on the cluster says which there are",
  ];
}

/** The types that srun lists; null where there is no srun, or it finds no cluster. */
async function typesHere(): Promise<string[] | null> {
  const asked = await runCommand(["srun", "--mpi=list"], outsideOfJobs());
  if (!asked?.success) return null;
  // Newer releases print to stdout, older ones to stderr with "srun: " before each line.
  const lines = `${asked.out}\n${asked.err}`.replaceAll(/^srun: /gm, "").split("\n");
  const types = lines.flatMap((line) =>
    /^\s*([a-z][a-z0-9_]*)\s*$/.exec(line)?.[1] ??
      /^specific pmix plugin versions available: *(.*)$/.exec(line)?.[1]?.split(/[,\s]+/) ?? []
  ).filter((type) => type !== "");
  return types.length === 0 ? null : types;
}
