/**
 * Ranks of a run: how many, and where (`--ranks`, or the keys training.nnodes and
 * training.n_gpus_per_node, which a machine or job must be able to place); the launcher of this
 * machine; and this command started again as so many ranks. Signals are passed on, and at the end
 * it says what was saved.
 *
 * The keys count graphics cards. Where a recipe for cards runs on a CPU that cannot start as many
 * ranks, one process does the run, with the same bits, and a note says so.
 *
 * Within a job of SLURM srun starts ranks, elsewhere mpirun or mpiexec. `srun --mpi=list` names
 * types of MPI that a cluster was built with, also those that do not work. So each type that fits
 * an MPI library of this machine is tried with a tiny step. The type that worked is remembered and
 * tried first the next time.
 */
import { type Abi, findLibrary, hasLibrary, launchOf } from "../../cluster/ranks/mpi/library.ts";
import { starterVariables } from "../../cluster/ranks/watch/rank_watch.ts";
import {
  askedPlaces,
  placesText,
  type RankKeys,
  type RankPlaces,
  requireAsked,
} from "../../configs/rank_layout.ts";
import { writeFileAtomic } from "../../core/atomic_file.ts";
import { userCache } from "../../core/cache/user_cache.ts";
import { counted } from "../../core/counted.ts";
import { EXIT, UsageError } from "../../core/errors.ts";
import { grantedCores } from "../../core/machine/cgroup.ts";
import { processEnv, slurmJob } from "../../core/machine/job.ts";
import { runCommand } from "../../core/machine/run_command.ts";
import { programCommand } from "../../core/program_command.ts";
import { cardsFor } from "../../kernels/mod.ts";
import { onSignals } from "../signals.ts";
import { listenNoMore } from "../stop_control.ts";
import { log } from "../terminal/terminal.ts";

/** Whether this process is one of several ranks. @throws UsageError for another number of them */
export function isRank(ranks: number | undefined): boolean {
  const launch = launchOf();
  if (launch === null) return false;
  if (ranks === undefined || launch.size === ranks) return true;
  throw new UsageError(
    `--ranks ${ranks}: the launcher has started ${launch.size} ranks (${launch.from})`,
    { advice: "Leave --ranks out: the launcher decides, as in mpirun -np N rgx …" },
  );
}

const STOPS: readonly Deno.Signal[] = ["SIGINT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGHUP"];

/**
 * Starts the ranks and waits for them.
 * @param args the arguments of this program
 * @param kept names the state from which a resume can continue, such as "F is"; null = nothing
 * @returns the exit code of the command
 */
export async function runRanks(
  { count, places }: AskedRanks,
  args: readonly string[],
  kept: Kept,
): Promise<number> {
  const launcher = await launcherHere();
  if (launcher.note !== null) log(`note: ${launcher.note}`);
  if (launcher.name !== "srun") {
    // Otherwise each rank would report that the run does not fit.
    findLibrary({ size: count, rank: 0, from: launcher.command, abi: launcher.name });
  }
  const isRoot = Deno.build.os !== "windows" && Deno.uid() === 0;
  const child = new Deno.Command(launcher.command, {
    args: [
      // Outside of a job there is one node.
      ...(places === null || slurmJob() === null ? [] : launcher.placed(places)),
      ...launcher.args,
      String(count),
      ...programCommand(),
      ...args,
    ],
    env: {
      ...(isRoot ? { OMPI_ALLOW_RUN_AS_ROOT: "1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: "1" } : {}),
      // When this process is killed, the ranks end, too.
      ...starterVariables(),
    },
    // In a process group of its own: Ctrl-C in a terminal would make it kill the ranks.
    detached: true,
    stdin: "null",
    stdout: "inherit",
    stderr: "inherit",
  }).spawn();
  let asked = 0;
  const stopListening = onSignals(STOPS, (signal) => {
    try {
      // A second Ctrl-C ends them at once.
      child.kill(++asked > 1 && signal === "SIGINT" ? "SIGTERM" : launcher.stop);
    } catch {
      // The ranks have ended.
    }
  });
  // Otherwise a signal would end this process at once, and leave the ranks behind.
  listenNoMore();
  const { code, signal } = await child.status;
  stopListening();
  const how = signal === null
    ? `a rank was killed (the launcher ended with ${code}), so all have ended`
    : `the launcher was killed (${launcher.command}, ${signal}), so all ranks end`;
  return await explainEnd(code, how, kept);
}

type Kept = () => Promise<string | null>;

/** Codes that the ranks themselves end with, after they have said why. */
const OWN_CODES: readonly number[] = [EXIT.ok, EXIT.failure, EXIT.usage, EXIT.resumable];

/** The exit code of the command. If a rank or the launcher was killed, prints what was saved. */
async function explainEnd(code: number, how: string, kept: Kept): Promise<number> {
  if (OWN_CODES.includes(code)) return code;
  const what = await kept().catch(() => null);
  log(`error: ${how}`);
  if (what === null) return EXIT.failure;
  log(`help: ${what} kept: the same command with --resume continues, with any number of ranks`);
  return EXIT.resumable;
}

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
  machine: RankMachine = rankMachine(),
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

function rankMachine(): RankMachine {
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

interface Launcher {
  name: Abi | "srun";
  command: string;
  /** Arguments before the number of ranks. */
  args: readonly string[];
  /** The arguments that place ranks on nodes. */
  placed(places: RankPlaces): string[];
  /** The signal that it passes on to all ranks, and that asks them to save and stop. */
  stop: Deno.Signal;
  /** Why the search chose another launcher than a user may expect; null = it did not. */
  note: string | null;
}

/** The facts about a machine that the search needs. */
export interface Machine {
  ask(
    command: string,
    args: readonly string[],
  ): Promise<{ code: number; out: string; err: string } | null>;
  /** Whether srun would start processes here. */
  inJob: boolean;
  hasLibrary(abi: Abi): boolean;
  /** The type of `srun --mpi` that worked the last time. */
  remembered(): Promise<string | null>;
  remember(type: string): Promise<void>;
}

let here: Promise<Launcher> | undefined;

/** The launcher of this machine, which is looked for once. @throws UsageError for none */
function launcherHere(): Promise<Launcher> {
  return here ??= findLauncher(thisMachine());
}

/** The launcher to use on a machine. @throws UsageError as {@link launcherHere} */
export async function findLauncher(machine: Machine): Promise<Launcher> {
  const tried: string[] = [];
  if (machine.inJob) {
    const type = await workingType(machine, tried);
    if (type !== null) {
      const args = [`--mpi=${type}`, "--kill-on-bad-exit=1", "--ntasks"];
      return {
        name: "srun",
        command: "srun",
        args,
        placed: ({ nodes, perNode }) => [`--nodes=${nodes}`, `--ntasks-per-node=${perNode}`],
        stop: "SIGUSR2",
        note: null,
      };
    }
  }
  for (const command of ["mpirun", "mpiexec", "mpirun.openmpi", "mpiexec.mpich"]) {
    const found = await machine.ask(command, ["--version"]);
    if (found === null) continue;
    const isOpenMpi = /Open MPI|OpenRTE|PRRTE/i.test(found.out + found.err);
    const note = tried.length === 0
      ? null
      : `srun starts no MPI here, so ${command} does (${tried.join("; ")})`;
    return isOpenMpi
      ? {
        name: "Open MPI",
        command,
        // Without these, each rank would be bound to one core, and there could be no more ranks
        // than cores. --quiet: rgx says itself why the ranks ended.
        args: ["--bind-to", "none", "--oversubscribe", "--quiet", "-np"],
        placed: ({ perNode }) => ["--map-by", `ppr:${perNode}:node`],
        stop: "SIGUSR2",
        note,
      }
      // MPICH's launcher dies of SIGUSR2, and passes SIGUSR1 on.
      : {
        name: "MPICH",
        command,
        args: ["-np"],
        placed: ({ perNode }) => ["-ppn", String(perNode)],
        stop: "SIGUSR1",
        note,
      };
  }
  throw new UsageError(
    tried.length === 0
      ? "several ranks: there is no launcher of MPI (mpirun, mpiexec)"
      : `several ranks: nothing here starts MPI: ${
        tried.join("; ")
      }; there is no mpirun or mpiexec`,
    {
      advice: "Debian and Ubuntu: apt-get install openmpi-bin (or mpich; for srun also " +
        "libpmix-dev); clusters: module load openmpi (module avail mpi lists them), spack load " +
        "openmpi. One process: without --ranks and training.n_gpus_per_node.",
    },
  );
}

/**
 * The type of `srun --mpi` that works and fits a library; null if there is none.
 * @param tried gets what was tried, and why it does not work
 */
async function workingType(machine: Machine, tried: string[]): Promise<string | null> {
  const listed = await machine.ask("srun", ["--mpi=list"]);
  if (listed === null) return null;
  // Some versions print it on stderr.
  const names = (listed.out + listed.err).match(/\b(pmix(_v\d+)?|pmi2|cray_shasta)\b/g) ?? [];
  const openMpi = names.filter((name) => name.startsWith("pmix"));
  const mpich = names.filter((name) => !name.startsWith("pmix"));
  const last = await machine.remembered();
  const types = [...new Set([...openMpi, ...mpich])]
    .sort((a, b) => Number(b === last) - Number(a === last));
  if (types.length === 0) tried.push("srun --mpi=list names neither pmix nor pmi2");
  for (const type of types) {
    const isPmix = type.startsWith("pmix"), abi = isPmix ? "Open MPI" : "MPICH";
    if (!machine.hasLibrary(abi)) {
      tried.push(`srun --mpi=${type} is for ${abi}, whose library is not here`);
      continue;
    }
    // The variable by which the library learns its rank: "none" starts processes without it.
    const variable = isPmix ? "PMIX_RANK" : "PMI_RANK";
    const step = [`--mpi=${type}`, "--nodes=1", "--ntasks=1", "printenv", variable];
    const { code, out, err } = (await machine.ask("srun", step))!;
    if (code === 0 && /^0$/m.test(out)) {
      if (type !== last) await machine.remember(type);
      return type;
    }
    const why = err.trim().split("\n")[0] || `it sets no ${variable}`;
    tried.push(`srun --mpi=${type}: ${why.replace(/^srun: (error: )?/, "")}`);
  }
  return null;
}

/** If a step takes longer than these milliseconds, it counts as one that does not start. */
const STEP_MS = 30_000;

function thisMachine(): Machine {
  const cache = userCache(), path = cache === null ? null : `${cache}/srun_mpi_type`;
  return {
    inJob: slurmJob() !== null && !processEnv("SLURM_STEP_ID"),
    hasLibrary,
    async ask(command, args) {
      const ended = await runCommand([command, ...args], { timeoutMs: STEP_MS });
      if (ended === null) return null;
      return ended.signal === null
        ? ended
        : { ...ended, err: `no step within ${STEP_MS / 1000} s` };
    },
    async remembered() {
      return path === null ? null : await Deno.readTextFile(path).catch(() => null);
    },
    async remember(type) {
      if (path === null) return;
      // A failure is ignored: the file only saves a step of a tenth of a second.
      await Deno.mkdir(cache!, { recursive: true }).then(() => writeFileAtomic(path, type))
        .catch(() => {});
    },
  };
}
