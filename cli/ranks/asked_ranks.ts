/**
 * How many ranks a run gets, and where: `--ranks`, or the keys training.nnodes and
 * training.n_gpus_per_node, which a machine or job must be able to place. The keys count graphics
 * cards. Where a recipe for cards runs on a CPU that cannot start as many ranks, one process does
 * the run, with the same bits, and a note says so.
 */
import {
  askedPlaces,
  placesText,
  type RankKeys,
  type RankPlaces,
  requireAsked,
} from "../../configs/rank_layout.ts";
import { counted } from "../../core/counted.ts";
import { UsageError } from "../../core/errors.ts";
import { grantedCores } from "../../core/machine/cgroup.ts";
import { slurmJob } from "../../core/machine/job.ts";
import { cardsFor } from "../../kernels/mod.ts";
import { log } from "../terminal/terminal.ts";
import { launcherHere } from "./find_launcher.ts";

/** Ranks to start. */
export interface AskedRanks {
  count: number;
  /** The nodes on which the ranks run; null: the launcher places them. */
  places: RankPlaces | null;
}

/** The facts about a machine that the check needs. */
export interface RankMachine {
  /** Nodes of the job of this process; null: it is in no job, or its size is not known. */
  jobNodes: number | null;
  inJob: boolean;
  cores: number;
  /** Graphics cards for this device, and the variable that limits them; null: it is the CPU. */
  cards(device: string): Promise<{ cards: number; by: string } | null>;
  /** Whether there is a program that starts ranks. */
  hasLauncher(): Promise<boolean>;
  /** Shows a note. */
  note(text: string): void;
}

/**
 * The ranks to start, for a process without a launcher; null = it trains alone.
 * @param flag the value of `--ranks`
 * @throws UsageError when flag and keys differ, or this machine or job has no place for the ranks
 */
export async function askedRanks(
  training: RankKeys,
  flag: number | undefined,
  device: string,
  machine: RankMachine = thisMachine(),
): Promise<AskedRanks | null> {
  if (flag !== undefined) requireAsked(training, flag, `--ranks ${flag}`);
  const places = askedPlaces(training);
  if (places === null) return flag === undefined || flag === 1 ? null : { count: flag, places };
  const count = places.nodes * places.perNode;
  if (count === 1) return null;
  requireNodes(places, machine);
  // In a job, the ranks may run on other nodes, so each rank checks the cards of its own node.
  if (machine.inJob) return { count, places };
  const found = await machine.cards(device);
  if (found !== null) requireCards(places.perNode, found);
  else if (flag === undefined && !await startsOnCpu(count, device, machine)) return null;
  return { count, places };
}

function requireNodes(places: RankPlaces, { inJob, jobNodes }: RankMachine): void {
  const { nodes, perNode } = places;
  if (!inJob && nodes > 1) {
    throw new UsageError(`${placesText(places)}: outside of a job there is one node`, {
      advice: `rgx slurm CONFIG ACCOUNT --nodes ${nodes} --gpus ${perNode} writes the script of ` +
        "such a job. Machines without SLURM: mpirun with a list of hosts. This machine alone: " +
        "training.nnodes=1.",
    });
  }
  if (jobNodes === null || jobNodes >= nodes) return;
  throw new UsageError(
    `${placesText(places)}: this job has ${counted(jobNodes, "node", "nodes")}`,
    { advice: `Ask for more (sbatch --nodes=${nodes}), or set training.nnodes=${jobNodes}.` },
  );
}

/** Whether this machine starts so many ranks on the CPU; otherwise a note says why not. */
async function startsOnCpu(
  count: number,
  device: string,
  machine: RankMachine,
): Promise<boolean> {
  const { cores } = machine, has = counted(cores, "core", "cores");
  const why = count > cores
    ? `has ${has} for them`
    : await machine.hasLauncher()
    ? null
    : "has no launcher of MPI";
  if (why === null) return true;
  machine.note(
    `training.n_gpus_per_node is ${count}: this run is on the CPU (--device ${device}), and this ` +
      `machine ${why}; one process does the run, with the same bits. --ranks N starts several.`,
  );
  return false;
}

function requireCards(perNode: number, { cards, by }: { cards: number; by: string }): void {
  const key = `training.n_gpus_per_node is ${perNode}`;
  if (perNode <= cards) return;
  throw new UsageError(
    `${key}: this machine has ${counted(cards, "graphics card", "graphics cards")}` +
      `${by === "" ? "" : ` for this process (${by})`}, so rank ${cards} would have none`,
    {
      advice: cards === 0
        ? "Compute on the CPU (--device wasm), or ask for cards (rgx slurm CONFIG ACCOUNT)."
        : `Set training.n_gpus_per_node=${cards}, or ask for more cards (rgx slurm CONFIG ` +
          `ACCOUNT --gpus ${perNode}).`,
    },
  );
}

function thisMachine(): RankMachine {
  const job = slurmJob();
  return {
    inJob: job !== null,
    jobNodes: job?.nodes ?? null,
    cores: grantedCores(),
    cards: cardsFor,
    hasLauncher: () => launcherHere().then(() => true, () => false),
    note: (text) => log(`note: ${text}`),
  };
}
