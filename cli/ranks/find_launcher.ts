/**
 * Finds what starts ranks here: within a job of SLURM srun, elsewhere mpirun or mpiexec. `srun
 * --mpi=list` names types of MPI that a cluster was built with, also those that do not work. So
 * each type that fits an MPI library of this machine is tried with a tiny step. The type that
 * worked is remembered and tried first the next time.
 */
import type { RankPlaces } from "../../configs/rank_layout.ts";
import { writeFileAtomic } from "../../core/atomic_file.ts";
import { userCache } from "../../core/cache/user_cache.ts";
import { UsageError } from "../../core/errors.ts";
import { processEnv, slurmJob } from "../../core/machine/job.ts";
import { runCommand } from "../../core/machine/run_command.ts";
import type { Abi } from "../../cluster/ranks/mpi/launch.ts";
import { hasLibrary } from "../../cluster/ranks/mpi/library.ts";

/** A launcher of this machine. */
export interface Launcher {
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
  /** Runs a command; null = it is not installed. */
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

/**
 * The launcher of this machine, which is looked for once.
 * @throws UsageError when there is none, with what was tried
 */
export function launcherHere(): Promise<Launcher> {
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
