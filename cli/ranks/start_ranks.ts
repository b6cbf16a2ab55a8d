/**
 * `--ranks N`: starts this command again as N ranks, with the launcher of this machine, passes
 * signals on, and says what is left when they end. Within a job of SLURM the launcher is srun.
 */
import { EXIT, UsageError } from "../../core/errors.ts";
import { processEnv, slurmJob } from "../../core/machine/job.ts";
import { programCommand } from "../../core/program_command.ts";
import { launchOf } from "../../ranks/mpi/launch.ts";
import { findLibrary } from "../../ranks/mpi/library.ts";
import { log } from "../terminal/terminal.ts";

/** A launcher of this machine. */
export interface Launcher {
  name: "Open MPI" | "MPICH" | "srun";
  command: string;
  /** Arguments before the number of ranks. */
  args: readonly string[];
  /** The signal that it passes on to all ranks, and that asks them to save and stop. */
  stop: Deno.Signal;
}

/** Runs a command. @returns its output, or null when there is none */
export type Ask = (command: string, args: readonly string[]) => Promise<string | null>;

/**
 * The launcher to use.
 * @throws UsageError when there is none
 */
export async function findLauncher(ask: Ask = output, inJob = inAllocation()): Promise<Launcher> {
  const types = inJob ? await ask("srun", ["--mpi=list"]) : null;
  const type = ["pmix", "pmi2"].find((name) => new RegExp(`\\b${name}\\b`).test(types ?? ""));
  if (type !== undefined) {
    const args = [`--mpi=${type}`, "--kill-on-bad-exit=1"];
    return { name: "srun", command: "srun", args: [...args, "--ntasks"], stop: "SIGUSR2" };
  }
  for (const command of ["mpirun", "mpiexec", "mpirun.openmpi", "mpiexec.mpich"]) {
    const version = await ask(command, ["--version"]);
    if (version === null) continue;
    if (/Open MPI|OpenRTE|PRRTE/i.test(version)) {
      // Without these, each rank would be bound to one core, and there could be no more ranks than
      // cores. --quiet: rgx says itself why the ranks ended.
      const args = ["--bind-to", "none", "--oversubscribe", "--quiet", "-np"];
      return { name: "Open MPI", command, args, stop: "SIGUSR2" };
    }
    // MPICH's launcher dies of SIGUSR2, and passes SIGUSR1 on.
    return { name: "MPICH", command, args: ["-np"], stop: "SIGUSR1" };
  }
  throw new UsageError("--ranks: there is no launcher of MPI (mpirun, mpiexec)", {
    advice: "Debian and Ubuntu: apt-get install openmpi-bin (or mpich); clusters: module load " +
      "openmpi (module avail mpi lists them), spack load openmpi.",
  });
}

/** Whether srun would start processes here: within a job, and not within one of its steps. */
function inAllocation(): boolean {
  return slurmJob() !== null && !processEnv("SLURM_STEP_ID");
}

async function output(command: string, args: readonly string[]): Promise<string | null> {
  try {
    const child = new Deno.Command(command, { args: [...args], stdin: "null" });
    const { stdout, stderr } = await child.output();
    return new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  } catch {
    return null; // not installed
  }
}

/**
 * Whether this process shall start the ranks: it was asked for several, and is not one of them.
 * @throws UsageError when a launcher has started another number of ranks
 */
export function startsRanks(ranks: number | undefined): ranks is number {
  if (ranks === undefined) return false;
  const launch = launchOf();
  if (launch === null) return ranks > 1;
  if (launch.size === ranks) return false;
  throw new UsageError(
    `--ranks ${ranks}: the launcher has started ${launch.size} ranks (${launch.from})`,
    { advice: "Leave --ranks out: the launcher decides, as in mpirun -np N rgx train CONFIG." },
  );
}

/** Signals that ask a run to save and stop. */
const STOPS: readonly Deno.Signal[] = ["SIGINT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGHUP"];

/**
 * Starts the ranks and waits for them.
 * @param args the arguments of this program
 * @param kept says what a resume can go on from, such as "F is"; null = nothing
 * @returns the exit code of the command
 */
export async function runRanks(
  ranks: number,
  args: readonly string[],
  kept: Kept,
): Promise<number> {
  const launcher = await findLauncher();
  if (launcher.name !== "srun") {
    // Otherwise each rank would say that it does not fit.
    findLibrary({ size: ranks, rank: 0, from: launcher.command, abi: launcher.name });
  }
  const isRoot = Deno.build.os !== "windows" && Deno.uid() === 0;
  const child = new Deno.Command(launcher.command, {
    args: [...launcher.args, String(ranks), ...programCommand(), ...args],
    env: isRoot ? { OMPI_ALLOW_RUN_AS_ROOT: "1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: "1" } : {},
    // In a process group of its own: Ctrl-C in a terminal would make it kill the ranks.
    detached: true,
    stdin: "null",
    stdout: "inherit",
    stderr: "inherit",
  }).spawn();
  let asked = 0;
  const handlers = STOPS.map((signal) => {
    const handler = () => {
      try {
        // A second Ctrl-C ends them at once.
        child.kill(++asked > 1 && signal === "SIGINT" ? "SIGTERM" : launcher.stop);
      } catch {
        // They have ended.
      }
    };
    Deno.addSignalListener(signal, handler);
    return { signal, handler };
  });
  const { code } = await child.status;
  for (const { signal, handler } of handlers) Deno.removeSignalListener(signal, handler);
  return await explainEnd(code, kept);
}

type Kept = () => Promise<string | null>;

/** Codes that the ranks themselves end with, after they have said why. */
const OWN_CODES: readonly number[] = [EXIT.ok, EXIT.failure, EXIT.usage, EXIT.resumable];

/** The code of the command; says what is left when a rank was killed. */
async function explainEnd(code: number, kept: Kept): Promise<number> {
  if (OWN_CODES.includes(code)) return code;
  const what = await kept().catch(() => null);
  log(`error: a rank was killed (the launcher ended with ${code}), so all have ended`);
  if (what === null) return EXIT.failure;
  log(`help: ${what} kept: the same command with --resume goes on, with any number of ranks`);
  return EXIT.resumable;
}
